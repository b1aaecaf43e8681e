import type { OperationKind } from "../behaviour";
import { decoded } from "../endpoints";
import type { StoredOperation } from "../operation-queue";
import { finishDueOperations, fractionOf } from "../operations";
import type { Subject } from "../reply";
import type { LoggedRequest, Service } from "../server";
import type { State } from "../state";

/** The content of the page. All times are in milliseconds since 1970. */
export interface View {
  /** Newest first. */
  readonly objects: readonly ObjectView[];
  /** Newest first. */
  readonly requests: readonly RequestView[];
  readonly faults: readonly FaultView[];
  readonly count: { objects: number; running: number; requests: number; plannedFailures: number };
}

export interface FaultView {
  readonly id: number;
  readonly kind: string;
  readonly requests: string;
  readonly used: number;
  /** The number of requests to affect, or null for all requests. */
  readonly times: number | null;
}

export interface RequestView {
  /** The number of the request since the emulator started. */
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly fault: string | undefined;
  readonly key: string | undefined;
  readonly revision: string | undefined;
}

export interface ObjectView {
  /** Kind and id. */
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly revision: string | undefined;
  /** Oldest first. */
  readonly changes: readonly ChangeView[];
}

/** A request on a timeline. */
export interface RequestMark {
  readonly at: number;
  readonly status: number;
  readonly fault: string | undefined;
}

/** A creation, update or deletion, with all attempts to send its request and all polls of its operation. */
export interface ChangeView {
  readonly kind: OperationKind;
  readonly attempts: readonly RequestMark[];
  readonly polls: readonly RequestMark[];
  readonly operation: OperationView | undefined;
}

interface OperationView {
  readonly outcome: StoredOperation["outcome"];
  readonly startedAt: number;
  /** The expected end of a running operation. */
  readonly endsAt: number;
  /** From 0 to 1. */
  readonly progress: number;
  /** The arrival time of the first poll that returned the end. */
  readonly seenAt: number | undefined;
  readonly problem: string | undefined;
}

/** The limits of a view. Older objects and requests are omitted. */
const MAX_OBJECTS = 50;
const MAX_CHANGES = 5;
const MAX_REQUESTS = 100;
/** The number of recent requests from which the timelines are built. */
const MAX_SEARCHED = 5000;

const KINDS: Readonly<Record<string, OperationKind>> = { POST: "create", PUT: "update", DELETE: "delete" };

interface Change {
  readonly kind: OperationKind;
  readonly attempts: RequestMark[];
  readonly polls: RequestMark[];
  operation: string | undefined;
}

interface ObjectHistory {
  readonly subject: Subject;
  readonly createdAt: number;
  readonly changes: Change[];
}

/** Returns the current content of the page. */
export function viewOf({ state, log, faults }: Pick<Service, "state" | "log" | "faults">): View {
  finishDueOperations(state);
  const histories = historiesOf(state, log.entries.slice(-MAX_SEARCHED));
  const last = log.dropped + log.entries.length;
  return {
    objects: histories.slice(0, MAX_OBJECTS).map((history) => viewObject(state, history)),
    requests: log.entries
      .slice(-MAX_REQUESTS)
      .reverse()
      .map((entry, at) => viewRequest(entry, last - at)),
    faults: faults.pending().map(({ id, rule, used }) => {
      const { kind, method = "any request", path = "", times = 1 } = rule;
      return {
        id,
        kind,
        requests: `${method} ${path}`.trim(),
        used,
        times: Number.isFinite(times) ? times : null,
      };
    }),
    count: {
      objects: histories.length,
      running: state.operations.running().length,
      requests: last,
      plannedFailures: state.rules.planned,
    },
  };
}

function viewRequest(
  { at, method, path, query, headers, status, fault }: LoggedRequest,
  id: number,
): RequestView {
  const search = new URLSearchParams(query).toString();
  const shown = search === "" ? path : `${path}?${search}`;
  return {
    id,
    at,
    method,
    path: shown,
    status,
    fault,
    key: headers["idempotency-key"],
    revision: headers["if-match"],
  };
}

/** Returns the objects, newest first, each with its changes, oldest first. */
function historiesOf(state: State, entries: readonly LoggedRequest[]): ObjectHistory[] {
  const histories = new Map<string, ObjectHistory>();
  const historyOf = (subject: Subject, createdAt: number): ObjectHistory => {
    const key = nameOf(subject);
    const history = histories.get(key) ?? { subject, createdAt, changes: [] };
    histories.set(key, history);
    return history;
  };
  for (const { id, createdAt } of state.projects.byId.values()) historyOf({ kind: "project", id }, createdAt);
  for (const { id, createdAt } of state.instances.byId.values())
    historyOf({ kind: "instance", id }, createdAt);
  const byKey = new Map<string, Subject>();
  for (const { headers, subject } of entries) {
    const key = headers["idempotency-key"];
    if (subject && key !== undefined) byKey.set(key, subject);
  }
  for (const entry of entries) {
    // If a fault prevented an attempt, only the key identifies the object that a later attempt created.
    const subject =
      entry.subject ?? subjectOf(state, entry.path) ?? byKey.get(entry.headers["idempotency-key"] ?? "");
    const isPoll = entry.method === "GET" && subject?.operation !== undefined;
    if (subject && (isPoll || KINDS[entry.method]))
      addRequest(historyOf(subject, entry.at).changes, entry, subject);
  }
  for (const { id, kind, target, startedAt } of state.operations.byId.values()) {
    const { changes } = historyOf(target, startedAt);
    if (!changes.some(({ operation }) => operation === id))
      changes.push({ kind, attempts: [], polls: [], operation: id });
  }
  return [...histories.values()].sort((a, b) => b.createdAt - a.createdAt);
}

/** Returns the object or operation that a path refers to. */
function subjectOf({ operations }: State, path: string): Subject | undefined {
  const [, , collection, segment] = path.split("/");
  if (segment === undefined) return undefined;
  const id = decoded(segment);
  if (collection === "projects") return { kind: "project", id };
  if (collection === "instances") return { kind: "instance", id };
  const target = operations.byId.get(id)?.target;
  return target && { kind: target.kind, id: target.id, operation: id };
}

/** Adds a poll to the change of its operation. Any other request starts a new change, or is another attempt of the last change. */
function addRequest(changes: Change[], entry: LoggedRequest, { operation }: Subject): void {
  const { at, status, fault, method } = entry;
  const kind = KINDS[method];
  const polled =
    kind === undefined ? changes.findLast((change) => change.operation === operation) : undefined;
  if (polled) polled.polls.push({ at, status, fault });
  if (kind === undefined) return;
  const last = changes.at(-1);
  const { status: before = 0 } = last?.attempts.at(-1) ?? {};
  const isNextAttempt = last?.kind === kind && (kind === "create" || before === 0 || before >= 400);
  const change = isNextAttempt ? last : { kind, attempts: [], polls: [], operation: undefined };
  if (!isNextAttempt) changes.push(change);
  change.attempts.push({ at, status, fault });
  change.operation = operation ?? change.operation;
}

function viewObject(state: State, { subject, changes }: ObjectHistory): ObjectView {
  const { kind, id } = subject;
  const instance = kind === "instance" ? state.instances.byId.get(id) : undefined;
  const stored = instance ?? (kind === "project" ? state.projects.byId.get(id) : undefined);
  const lastOperation = state.operations.byId.get(
    changes.findLast(({ operation }) => operation)?.operation ?? "",
  );
  return {
    id: nameOf(subject),
    name: String(stored?.fields.name ?? lastOperation?.target.name ?? ""),
    status: instance?.status ?? (stored ? "exists" : statusWithoutObject(lastOperation)),
    revision: instance?.revision,
    changes: changes.slice(-MAX_CHANGES).map(({ operation, ...change }) => {
      const found = operation === undefined ? undefined : state.operations.byId.get(operation);
      return { ...change, operation: found && viewOperation(found, change.polls, state.now()) };
    }),
  };
}

function statusWithoutObject(last: StoredOperation | undefined): string {
  if (last?.kind !== "create" || last.outcome === "done") return "deleted";
  return last.outcome === "open" ? "creating" : "creation failed";
}

function viewOperation(
  operation: StoredOperation,
  polls: readonly RequestMark[],
  now: number,
): OperationView {
  const { outcome, startedAt, durationMs, error } = operation;
  const endsAt = outcome === "open" ? startedAt + durationMs : operation.endsAt;
  const seenAt = polls.find(({ at, status, fault }) => at >= endsAt && status === 200 && !fault)?.at;
  const problem = outcome === "failed" ? error?.detail : undefined;
  return { outcome, startedAt, endsAt, progress: fractionOf(operation, now), seenAt, problem };
}

function nameOf({ kind, id }: Subject): string {
  return `${kind} ${id}`;
}
