import type { OperationKind } from "./behaviour";
import { notFound, type Problem, problemOf } from "./problems";
import { json, type Reply } from "./reply";
import type { PlannedFailure } from "./rules";
import type { Handler, State } from "./state";

/** An operation (§2.3). It has no timer: whoever looks after its end finds it ended. Times in milliseconds. */
export interface StoredOperation {
  /** As in its address. */
  readonly id: string;
  /** What it is doing. */
  readonly kind: OperationKind;
  /** Since 1970, by the service's clock. */
  readonly startedAt: number;
  /** How long it would take if it did not fail. */
  readonly durationMs: number;
  /** Since 1970, by the service's clock: earlier where it fails or is finished early. */
  endsAt: number;
  /** Whether it has ended, and how. */
  outcome: "open" | "done" | "failed";
  /** Path of the object it is about; none when it deletes. */
  readonly resultPath: string | undefined;
  /** How it is going to fail, or has failed. */
  readonly failure: PlannedFailure | undefined;
  /** The problem document that it then carries (§2.3). */
  readonly error: Problem | undefined;
}

/** What an operation does to the state when it ends, at the time of its end. */
export interface Work {
  done(at: number): void;
  failed(at: number, leaveObject: boolean): void;
}

/** All operations; those whose time has come are ended by `settle`, in the order of their ends. */
export class Operations {
  readonly byId = new Map<string, StoredOperation>();
  private readonly open = new Map<StoredOperation, Work>();
  private nextEnd = Number.POSITIVE_INFINITY;

  add(operation: StoredOperation, work: Work): void {
    this.byId.set(operation.id, operation);
    this.open.set(operation, work);
    this.nextEnd = Math.min(this.nextEnd, operation.endsAt);
  }

  settle(now: number): void {
    if (now < this.nextEnd) return;
    const ended = [...this.open].filter(([operation]) => operation.endsAt <= now);
    for (const [operation, work] of ended.sort(([a], [b]) => a.endsAt - b.endsAt)) {
      this.open.delete(operation);
      operation.outcome = operation.failure === undefined ? "done" : "failed";
      if (operation.failure === undefined) work.done(operation.endsAt);
      else work.failed(operation.endsAt, operation.failure.leaveObject ?? false);
    }
    this.nextEnd = Number.POSITIVE_INFINITY;
    for (const operation of this.open.keys()) this.nextEnd = Math.min(this.nextEnd, operation.endsAt);
  }

  /** Ends everything in flight now. */
  finish(now: number): void {
    for (const operation of this.open.keys()) operation.endsAt = Math.min(operation.endsAt, now);
    this.nextEnd = Math.min(this.nextEnd, now);
    this.settle(now);
  }
}

/** Begins an operation; its end comes with the clock. */
export function begin(
  state: State,
  kind: OperationKind,
  resultPath: string | undefined,
  work: Work,
): StoredOperation {
  const { operationMs } = state.behaviour;
  const durationMs = typeof operationMs === "number" ? operationMs : operationMs(kind);
  const startedAt = state.now();
  const failure = state.rules.takeFailure(kind);
  const id = state.newId("op");
  const operation: StoredOperation = {
    id,
    kind,
    startedAt,
    durationMs,
    endsAt: startedAt + durationMs * (failure ? (failure.atProgress ?? 0.5) : 1),
    outcome: "open",
    resultPath,
    failure,
    error: failure && { ...failureProblem(state, kind, id), ...failure.problem },
  };
  state.operations.add(operation, work);
  return operation;
}

/** 202 with an operation (§4.1): pending, at 0; how far it is, polls tell. */
export function acceptedReply(state: State, operation: StoredOperation): Reply {
  const path = `/v1/operations/${operation.id}`;
  const { location, resultLink } = state.behaviour;
  const headers: Record<string, string> =
    location === "missing" ? {} : { location: location === "absolute" ? absolute(state, path) : path };
  const body = {
    id: operation.id,
    status: "pending",
    ...(state.behaviour.progress === "absent" ? {} : { progress: 0 }),
    ...(resultLink === "early" ? link(state, operation) : {}),
  };
  return json(202, body, headers);
}

/** GET /v1/operations/{id} (§4.6) */
export const getOperation: Handler = (state, _request, id) => {
  const operation = state.operations.byId.get(id);
  if (operation === undefined) return notFound(`operation '${id}'`, "operation_not_found");
  const { retryAfter } = state.behaviour;
  const wait = operation.outcome === "open" && retryAfter !== undefined;
  return json(200, viewOperation(state, operation), wait ? { "retry-after": String(retryAfter) } : {});
};

function viewOperation(state: State, operation: StoredOperation): Record<string, unknown> {
  const { behaviour } = state;
  const fraction = fractionOf(operation, state.now());
  const progress = progressOf(operation, fraction, behaviour.progress);
  const ended = operation.outcome !== "open";
  const pending = !ended && (progress ?? fraction) === 0;
  const linked =
    operation.outcome === "done" ||
    behaviour.resultLink === "early" ||
    (ended && operation.failure?.leaveObject);
  return {
    id: operation.id,
    status: ended
      ? operation.outcome === "done"
        ? "done"
        : behaviour.failedStatus
      : pending
        ? "pending"
        : "running",
    ...(progress === undefined ? {} : { progress }),
    ...(linked ? link(state, operation) : {}),
    ...(operation.outcome === "failed" && behaviour.failedHasError ? { error: operation.error } : {}),
    ...(pending ? {} : { started_at: new Date(operation.startedAt).toISOString() }),
    ...(ended && behaviour.finishedAt ? { finished_at: new Date(operation.endsAt).toISOString() } : {}),
  };
}

function fractionOf(operation: StoredOperation, now: number): number {
  if (operation.outcome === "done") return 1;
  const elapsed = Math.min(now, operation.endsAt) - operation.startedAt;
  return operation.durationMs <= 0 ? 0 : Math.min(Math.max(elapsed / operation.durationMs, 0), 0.99);
}

function progressOf(
  operation: StoredOperation,
  fraction: number,
  kind: State["behaviour"]["progress"],
): number | undefined {
  if (kind === "absent") return undefined;
  if (operation.outcome === "done") return 1;
  if (kind === "stuck") return 0.4;
  return kind === "bursts" ? Math.floor(fraction * 4) / 4 : Math.round(fraction * 1000) / 1000;
}

function link(state: State, operation: StoredOperation): { result_url?: string } {
  const { resultLink } = state.behaviour;
  if (resultLink === "missing" || operation.resultPath === undefined) return {};
  return {
    result_url: resultLink === "relative" ? operation.resultPath : absolute(state, operation.resultPath),
  };
}

function absolute(state: State, path: string): string {
  return `${state.behaviour.linkOrigin ?? state.url}${path}`;
}

function failureProblem(state: State, kind: OperationKind, id: string): Problem {
  const refusal = {
    status: 500,
    code: "capacity_exhausted",
    detail: `the ${kind} could not be carried out: no capacity left`,
  };
  return problemOf(refusal, `/v1/operations/${id}`, state.newTraceId());
}
