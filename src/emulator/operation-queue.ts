import type { OperationKind } from "./behaviour";
import type { Problem, Refusal } from "./problems";
import type { PlannedFailure } from "./rules";

/** The object that an operation creates, updates or deletes. */
export interface OperationTarget {
  /** Whether it is a project or an instance. */
  readonly kind: "project" | "instance";
  /** As in its path. */
  readonly id: string;
  /** Id of its project; a project's own id. */
  readonly project: string;
  /** Name that it has, or gets. */
  readonly name: unknown;
}

/** An operation (§2.3). It has no timer: it ends when something reads the state after its time. */
export interface StoredOperation {
  /** As in its path. */
  readonly id: string;
  /** What it does. */
  readonly kind: OperationKind;
  /** The object that it is about. */
  readonly target: OperationTarget;
  /** By the service's clock, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds that it takes if it doesn't fail. */
  readonly durationMs: number;
  /** By the service's clock, in milliseconds since 1970. It is earlier if the operation fails or is finished early. */
  endsAt: number;
  /** Whether it has ended, and how. */
  outcome: "open" | "done" | "failed";
  /** Path of the object; none for a deletion. */
  resultPath: string | undefined;
  /** How it is planned to fail. */
  readonly failure: PlannedFailure | undefined;
  /** The problem document of its failure (§2.3). */
  error: Problem | undefined;
  /** How many polls have reported its end. */
  endPolls: number;
}

/** What an operation does to the state at the time of its end. */
export interface Work {
  /** Why it fails, although no failure was planned. */
  obstacle?(): Refusal | undefined;
  done(at: number): void;
  failed(at: number, leaveObject: boolean): void;
}

/** All operations. `settle` ends those whose time has come, in the order of their ends. */
export class Operations {
  readonly byId = new Map<string, StoredOperation>();
  private readonly open = new Map<StoredOperation, Work>();
  private nextEnd = Number.POSITIVE_INFINITY;

  add(operation: StoredOperation, work: Work): void {
    this.byId.set(operation.id, operation);
    this.open.set(operation, work);
    this.nextEnd = Math.min(this.nextEnd, operation.endsAt);
  }

  /** Operations that have not ended, oldest first. */
  running(): StoredOperation[] {
    return [...this.open.keys()];
  }

  /** @param problemFor returns the problem document of an operation that can't be carried out */
  settle(now: number, problemFor: (obstacle: Refusal, operation: StoredOperation) => Problem): void {
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

  /** Ends everything in flight. */
  finish(now: number, problemFor: (obstacle: Refusal, operation: StoredOperation) => Problem): void {
    for (const operation of this.open.keys()) operation.endsAt = Math.min(operation.endsAt, now);
    this.nextEnd = Math.min(this.nextEnd, now);
    this.settle(now, problemFor);
  }
}
