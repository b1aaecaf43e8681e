import { mkdirSync } from "node:fs";
import path from "node:path";

/** The Pulumi commands that the demo runs. */
export type DemoCommand = "preview" | "up" | "destroy";

/** Runs the program with Pulumi's CLI, or with the fake engine of the tests. */
export interface Driver {
  /** Names the engine, so that users can't confuse the fake one with Pulumi. */
  readonly description: string;
  /** The commands to run in another terminal while the service is running. */
  readonly commandsToTry: string;
  /** Runs one command and shows its progress. Rejects with a `StepFailed` if the command fails. */
  run(command: DemoCommand): Promise<void>;
  /** Ends all processes that the driver has started. */
  close(): Promise<void>;
}

/** The settings of a driver. */
export interface Setting {
  /** The program's folder. */
  readonly dir: string;
  /** A folder for all other files. The demo removes it at the end. */
  readonly root: string;
  readonly endpoint: string;
  readonly token: string;
  /** Whether the output is a terminal, in which rows can be redrawn. */
  readonly live: boolean;
  /** Aborted by Ctrl-C: running operations finish, and nothing new starts. */
  readonly interrupted: AbortSignal;
  /** Aborted by a second Ctrl-C: everything ends at once. */
  readonly forced: AbortSignal;
}

/** Returns variables that keep the files of Pulumi's child processes, such as caches and the journal, in the demo's folder. */
export function childEnvironment({ root }: Setting): Record<string, string> {
  const temporary = temporaryFolder(root);
  mkdirSync(temporary, { recursive: true });
  return { TMPDIR: temporary, TEMP: temporary, TMP: temporary, CLOUDINFRA_JOURNAL_DIR: journalFolder(root) };
}

/** Only the demo's child processes have this folder in their environment, which identifies them. */
export function temporaryFolder(root: string): string {
  return path.join(root, "children");
}

/** The folder of the journal, also for commands that you run in another terminal. */
export function journalFolder(root: string): string {
  return path.join(root, "journal");
}

/** A command failed. Its output has been shown. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}
