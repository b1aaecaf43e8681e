import type { Behaviour, OperationKind } from "./behaviour";
import type { OperationTarget, StoredOperation, Work } from "./operation-queue";
import { notFound, type ProblemDocument, problemOf, problemOnWire, type Refusal } from "./problems";
import { bodyless, httpDate, idOnWire, jsonReply, present, type Reply } from "./reply";
import type { Handler, State } from "./state";

/** Ends all operations that are due. */
export function finishDueOperations(state: State): void {
  state.operations.finishDue(state.now(), problemFor(state));
}

/** Ends all running operations. */
export function finishOperations(state: State): void {
  state.operations.finish(state.now(), problemFor(state));
}

const problemFor =
  (state: State) =>
  (obstacle: Refusal, operation: StoredOperation): ProblemDocument =>
    problemOf(state, obstacle, pathOf(operation));

/** Starts an operation that takes effect when it ends. */
export function begin(
  state: State,
  kind: OperationKind,
  target: OperationTarget,
  work: Work,
): StoredOperation {
  const { operationMs, failEvery, failedCreation } = state.behaviour;
  const durationMs = typeof operationMs === "number" ? operationMs : operationMs(kind);
  const startedAt = state.now();
  const isUnlucky = failEvery !== undefined && (state.operations.byId.size + 1) % failEvery === 0;
  const planned = state.rules.takeFailure(kind) ?? (isUnlucky ? {} : undefined);
  const failure = planned && { leaveObject: failedCreation === "object", ...planned };
  const id = state.newId("operation");
  const operation: StoredOperation = {
    id,
    kind,
    target,
    startedAt,
    durationMs,
    endsAt: startedAt + durationMs * (failure ? (failure.atProgress ?? 0.5) : 1),
    outcome: "open",
    resultPath: kind === "delete" ? undefined : resultPathOf(target),
    failure,
    error: failure && { ...failureProblem(state, kind, id), ...failure.problem },
    endPolls: 0,
  };
  state.operations.add(operation, work);
  return operation;
}

/** Returns the path of the object that an operation creates or changes. */
export function resultPathOf({ kind, id }: Pick<OperationTarget, "kind" | "id">): string {
  return `/v1/${kind}s/${id}`;
}

/** Returns a 202 reply with a pending operation (§4.1). */
export function acceptedReply(state: State, operation: StoredOperation): Reply {
  const { kind, id } = operation.target;
  return { ...accepted(state, operation), subject: { kind, id, operation: operation.id } };
}

function accepted(state: State, operation: StoredOperation): Reply {
  const { behaviour } = state;
  const { location, acceptedReply: form } = behaviour;
  const path = pathOf(operation);
  const origin = behaviour.locationOrigin ?? behaviour.linkOrigin ?? state.url;
  const headers: Record<string, string> =
    location === "missing" ? {} : { location: location === "absolute" ? `${origin}${path}` : path };
  if (form === "bare" && operation.kind !== "create") return bodyless(202);
  if (form !== "operation") return bodyless(202, headers);
  const body = {
    id: idOnWire(behaviour, operation.id),
    status: "pending",
    progress: behaviour.progress === "absent" ? undefined : numberOnWire(behaviour, 0),
    result_url: behaviour.resultLink === "early" ? link(state, operation) : undefined,
  };
  return jsonReply(202, present(behaviour, body), headers);
}

/** GET /v1/operations/{id} (§4.6) */
export const getOperation: Handler = (state, _request, id) => {
  const { behaviour } = state;
  const operation = state.operations.byId.get(id);
  if (operation === undefined) return noOperation(id);
  if (isPurged(state, operation)) return { ...noOperation(id), status: behaviour.purgedStatus };
  if (operation.outcome !== "open") operation.endPolls += 1;
  const wait = operation.outcome === "open" && behaviour.retryAfter !== undefined;
  return jsonReply(
    200,
    viewOperation(state, operation),
    wait ? { "retry-after": retryAfter(state, behaviour.retryAfter ?? 0) } : {},
  );
};

function noOperation(id: string): Refusal {
  return notFound(`operation '${id}'`, "operation_not_found");
}

function isPurged({ behaviour, now }: State, { outcome, endsAt, endPolls }: StoredOperation): boolean {
  const { operationKeptMs = Number.POSITIVE_INFINITY, operationKeptPolls = Number.POSITIVE_INFINITY } =
    behaviour;
  return outcome !== "open" && (now() - endsAt >= operationKeptMs || endPolls >= operationKeptPolls);
}

function retryAfter({ behaviour, now }: State, seconds: number): string {
  if (behaviour.retryAfterForm === "seconds") return String(seconds);
  return httpDate(now() + seconds * 1000, behaviour.retryAfterForm);
}

function viewOperation(state: State, operation: StoredOperation): object {
  const { behaviour } = state;
  const { outcome } = operation;
  const fraction = fractionOf(operation, state.now());
  const progress = progressOf(operation, fraction, behaviour.progress);
  const ended = outcome !== "open";
  const pending = !ended && (progress ?? fraction) === 0;
  const linked = ended
    ? outcome === "done" ||
      behaviour.resultLink === "early" ||
      (operation.kind === "create" && operation.failure?.leaveObject)
    : behaviour.resultLink === "early";
  const error = outcome === "failed" && behaviour.failedHasError ? operation.error : undefined;
  return present(behaviour, {
    id: idOnWire(behaviour, operation.id),
    status: ended ? (outcome === "done" ? "done" : behaviour.failedStatus) : pending ? "pending" : "running",
    progress: progress === undefined ? undefined : numberOnWire(behaviour, progress),
    result_url: linked ? link(state, operation) : undefined,
    error: error && problemOnWire(behaviour, error),
    started_at: pending ? undefined : new Date(operation.startedAt).toISOString(),
    finished_at: ended && behaviour.finishedAt ? new Date(operation.endsAt).toISOString() : undefined,
  });
}

function numberOnWire({ numbersAsText }: Behaviour, value: number): number | string {
  return numbersAsText ? String(value) : value;
}

/** Returns the elapsed part of an operation, from 0 to 1. The result is 1 only if the operation is done. */
export function fractionOf(operation: StoredOperation, now: number): number {
  if (operation.outcome === "done") return 1;
  const elapsed = Math.min(now, operation.endsAt) - operation.startedAt;
  return operation.durationMs <= 0 ? 0 : Math.min(Math.max(elapsed / operation.durationMs, 0), 0.99);
}

function progressOf(
  operation: StoredOperation,
  fraction: number,
  kind: Behaviour["progress"],
): number | undefined {
  if (kind === "absent") return undefined;
  if (operation.outcome === "done") return 1;
  if (kind === "stuck") return 0.4;
  return kind === "bursts" ? Math.floor(fraction * 4) / 4 : Math.round(fraction * 1000) / 1000;
}

function link({ behaviour, url }: State, { resultPath }: StoredOperation): string | undefined {
  const { resultLink, resultOrigin, linkOrigin } = behaviour;
  if (resultLink === "missing" || resultPath === undefined) return undefined;
  return resultLink === "relative" ? resultPath : `${resultOrigin ?? linkOrigin ?? url}${resultPath}`;
}

function pathOf({ id }: StoredOperation): string {
  return `/v1/operations/${id}`;
}

function failureProblem(state: State, kind: OperationKind, id: string): ProblemDocument {
  const refusal = {
    status: 500,
    code: "capacity_exhausted",
    detail: `the ${kind} failed: no capacity left`,
  };
  return problemOf(state, refusal, `/v1/operations/${id}`);
}
