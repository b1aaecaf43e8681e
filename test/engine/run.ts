import type { Executor } from "./executor";
import type { Providers } from "./providers";
import type { Reporter } from "./reporter";
import type { Snapshot } from "./state/snapshot";

/** The data that the parts of one command share. */
export interface Run {
  readonly project: string;
  readonly stack: string;
  readonly dryRun: boolean;
  readonly continueOnError: boolean;
  readonly snapshot: Snapshot;
  readonly providers: Providers;
  readonly reporter: Reporter;
  readonly executor: Executor;
  /** URNs that this command deletes. */
  readonly deletions: Set<string>;
}

/** Ends a command. The reason has been reported. */
export class Reported extends Error {}
