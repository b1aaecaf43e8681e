import type { StepOp } from "../../harness/engine";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import type { Diff } from "../values/diff";

/** One thing to do to one resource. */
export interface Step {
  readonly op: StepOp;
  /** The entry of the state that the step is about. */
  readonly resource: Resource;
  readonly old?: Resource | undefined;
  /** What the resource becomes. */
  readonly current?: Resource | undefined;
  /** Whether it counts as a change that a person asked for; a replacement has several steps and counts once. */
  readonly logical: boolean;
  readonly diff?: Diff | undefined;
  /** Records in the state that the step is about to be made; the function returned records its end. */
  begin(snapshot: Snapshot): (saved: boolean) => void;
  /** A thrown `InitError` means that the step failed but left something that is saved. */
  apply(run: Run): Promise<void>;
  /** Answers the program. */
  settle?(result: RegistrationResult): void;
}

export type RegistrationResult = "success" | "failed" | "skipped";

/** What a program is told about a resource. */
export interface Registered {
  readonly resource: Resource;
  readonly result: RegistrationResult;
  /** Nothing is known of it, as it was left out of the operation. */
  readonly unknown: boolean;
}

export type Settle = (registered: Registered) => void;

export function now(): string {
  return new Date().toISOString();
}
