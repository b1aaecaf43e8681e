import type { StepOp } from "../../harness/engine";
import type { Run } from "../run";
import type { Resource } from "../state/resource";
import type { Snapshot } from "../state/snapshot";
import type { Diff } from "../values/diff";

/** One operation on one resource. */
export interface Step {
  readonly op: StepOp;
  /** The entry of the state. */
  readonly resource: Resource;
  readonly old?: Resource | undefined;
  /** The resource after the step. */
  readonly current?: Resource | undefined;
  /** Whether the summary counts the step. A replacement has several steps and counts once. */
  readonly logical: boolean;
  readonly diff?: Diff | undefined;
  /** Records the start of the step in the state. The returned function records its end. */
  begin(snapshot: Snapshot): (saved: boolean) => void;
  /** Runs the step. If it throws an `InitError`, the step has failed, but its partial result is saved. */
  apply(run: Run): Promise<void>;
  /** Sends the reply to the program. */
  settle?(result: RegistrationResult): void;
}

export type RegistrationResult = "success" | "failed" | "skipped";

/** The result of a registration, as the program receives it. */
export interface Registered {
  readonly resource: Resource;
  readonly result: RegistrationResult;
  /** The outputs are unknown, because the resource is left out of the operation. */
  readonly unknown: boolean;
}

export type Settle = (registered: Registered) => void;

export function now(): string {
  return new Date().toISOString();
}
