import { mkdirSync } from "node:fs";
import path from "node:path";

/** The commands of Pulumi that the demo shows. */
export type DemoCommand = "preview" | "up" | "destroy";

/** What runs the program: the real CLI, or the stand-in of the tests. */
export interface Driver {
  /** Says what this is, so that nobody takes one for the other. */
  readonly introduction: string;
  /** What to type elsewhere while the service stays up. */
  readonly whatToType: string;
  /** Runs one command to its end and shows how it goes. Rejects with a `StepFailed` if it fails. */
  run(command: DemoCommand): Promise<void>;
  /** Ends all that was started. */
  close(): Promise<void>;
}

/** What every driver needs to know. */
export interface Setting {
  /** The program's folder. */
  readonly dir: string;
  /** A folder for everything else; removed at the end. */
  readonly root: string;
  readonly endpoint: string;
  readonly token: string;
  /** Whether rows may be drawn again and again. */
  readonly live: boolean;
  /** Ctrl-C: what is in flight ends by itself, nothing new starts. */
  readonly interrupted: AbortSignal;
  /** A second Ctrl-C: everything ends now. */
  readonly forced: AbortSignal;
}

/** What Pulumi's child processes leave in folders of the user (caches, the journal) goes with the rest of the demo. */
export function childEnvironment({ root }: Setting): Record<string, string> {
  const temporary = temporaryFolder(root);
  mkdirSync(temporary, { recursive: true });
  return { TMPDIR: temporary, TEMP: temporary, TMP: temporary, CLOUDINFRA_JOURNAL_DIR: journalFolder(root) };
}

/** In the environment of the children only, so that it also tells them from a user's own processes. */
export function temporaryFolder(root: string): string {
  return path.join(root, "children");
}

/** Where the package keeps its journal; it stays with the demo also for commands that are typed elsewhere. */
export function journalFolder(root: string): string {
  return path.join(root, "journal");
}

/** A command ended badly; what it had to say has been shown. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}
