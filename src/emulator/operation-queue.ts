import type { OperationKind } from "./behaviour";
import type { ProblemDocument, Refusal } from "./problems";
import type { PlannedFailure } from "./rules";

/** The object that an operation creates, updates or deletes. */
export interface OperationTarget {
  /** The kind of object. */
  readonly kind: "project" | "instance";
  /** The id of the object. */
  readonly id: string;
  /** The id of the project, or of the project that contains the instance. */
  readonly project: string;
  /** The name of the object after the operation. */
  readonly name: unknown;
}

/** An operation as the emulator stores it. Operations have no timer, and end at the first access after `endsAt`. */
export interface StoredOperation {
  /** The id of the operation, always as a string. */
  readonly id: string;
  /** The kind of change. */
  readonly kind: OperationKind;
  /** The object that the operation creates, updates or deletes. */
  readonly target: OperationTarget;
  /** The start time on the emulator's clock, in milliseconds since 1970. */
  readonly startedAt: number;
  /** The planned duration in milliseconds. An operation that fails ends earlier. */
  readonly durationMs: number;
  /** The end time on the emulator's clock, in milliseconds since 1970. The end time changes if the operation is ended early. */
  endsAt: number;
  /** `open` until the operation ends. */
  outcome: "open" | "done" | "failed";
  /** The path of the object, or `undefined` for a deletion. */
  resultPath: string | undefined;
  /** The planned failure, if there is one. */
  readonly failure: PlannedFailure | undefined;
  /** The problem document of the failure, if there is one. */
  error: ProblemDocument | undefined;
  /** The number of polls that have returned the end of the operation. */
  endPolls: number;
}

/** The effect of an operation when it ends. */
export interface Work {
  /** Returns the reason why the operation can't succeed, if there is one. */
  obstacle?(): Refusal | undefined;
  done(at: number): void;
  failed(at: number, leaveObject: boolean): void;
}

/** All operations. */
export class OperationQueue {
  readonly byId = new Map<string, StoredOperation>();
  private readonly open = new Map<StoredOperation, Work>();
  private nextEnd = Number.POSITIVE_INFINITY;

  add(operation: StoredOperation, work: Work): void {
    this.byId.set(operation.id, operation);
    this.open.set(operation, work);
    this.nextEnd = Math.min(this.nextEnd, operation.endsAt);
  }

  /** Returns the operations that have not ended, oldest first. */
  running(): StoredOperation[] {
    return [...this.open.keys()];
  }

  /** Ends all operations that are due, in the order of their end times. */
  finishDue(
    now: number,
    problemFor: (obstacle: Refusal, operation: StoredOperation) => ProblemDocument,
  ): void {
    if (now < this.nextEnd) return;
    const ended = [...this.open].filter(([operation]) => operation.endsAt <= now);
    for (const [operation, work] of ended.sort(([a], [b]) => a.endsAt - b.endsAt)) {
      this.open.delete(operation);
      const obstacle = operation.failure === undefined ? work.obstacle?.() : undefined;
      if (obstacle) operation.error = problemFor(obstacle, operation);
      operation.outcome = operation.error === undefined ? "done" : "failed";
      if (operation.outcome === "done") work.done(operation.endsAt);
      else work.failed(operation.endsAt, operation.failure?.leaveObject ?? false);
    }
    this.nextEnd = Number.POSITIVE_INFINITY;
    for (const operation of this.open.keys()) this.nextEnd = Math.min(this.nextEnd, operation.endsAt);
  }

  /** Ends all running operations. */
  finish(now: number, problemFor: (obstacle: Refusal, operation: StoredOperation) => ProblemDocument): void {
    for (const operation of this.open.keys()) operation.endsAt = Math.min(operation.endsAt, now);
    this.nextEnd = Math.min(this.nextEnd, now);
    this.finishDue(now, problemFor);
  }
}
