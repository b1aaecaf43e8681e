import type { Attempt, WireReply } from "./transport";

export interface ExpectedReply {
  /** Whether a success must have a body. @default false */
  readonly needsBody?: boolean | undefined;
}

/** Whether the service processed or definitely rejected a request, or `unknown` if this is uncertain. */
export type Outcome = "done" | "rejected" | "unknown";

/**
 * The statuses that a service returns only before it processes a request. After any other status, such as a 5xx, 408 or a redirect, the
 * service may have processed the request. Frameworks may return 406 after processing.
 */
const REJECTIONS: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431,
]);

/** Classifies a single attempt. A status such as 401, 404 or 422 proves nothing about an earlier attempt that received no reply. */
export function classifyAttempt(request: ExpectedReply, attempt: Attempt): Outcome {
  if (attempt.kind === "failure") return attempt.failure.neverSent ? "rejected" : "unknown";
  if (attempt.kind === "timeout") return attempt.neverSent ? "rejected" : "unknown";
  const { reply } = attempt;
  if (isSuccess(reply)) return isUsable(request, reply) ? "done" : "unknown";
  return REJECTIONS.has(reply.status) && keyConflict(reply) === undefined ? "rejected" : "unknown";
}

export function isSuccess({ status }: WireReply): boolean {
  return status >= 200 && status < 300;
}

/** Reports whether a status may be temporary: 408, 425, 429, or any 5xx except 501. Gateways also use nonstandard 5xx codes. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** Reports whether a successful reply has a readable body, if the request requires a body. */
export function isUsable({ needsBody }: ExpectedReply, { status, body, header }: WireReply): boolean {
  if (body.kind === "empty") return !needsBody || status === 204 || header("location") !== undefined;
  return body.kind === "json";
}

/**
 * Returns the conflict about the idempotency key that a reply contains (§4.7). The first request with the key may still be running, or the
 * key may belong to a different request. Only machine-readable members are evaluated, because prose may contain any word.
 */
export function keyConflict({ status, problem }: WireReply): "in progress" | "reused" | undefined {
  const kind = `${problem?.code ?? ""} ${problem?.type ?? ""}`;
  if (status < 400 || status >= 500 || !/idempoten/i.test(kind)) return undefined;
  if (/invalid|malformed|missing|required/i.test(kind)) return undefined;
  return status === 409 && !/reus|mismatch|differ/i.test(kind) ? "in progress" : "reused";
}

/**
 * Reports whether a reply rejects the token. The specification doesn't define this reply (§5). A 403 rejects the token only if a
 * machine-readable member says so, as in `token_expired`. Otherwise, the token is valid but lacks a permission.
 */
export function isTokenRejected({ status, problem }: WireReply): boolean {
  const kinds = [problem?.code ?? "", problem?.type ?? ""];
  return status === 401 || (status === 403 && kinds.some((kind) => TOKEN_REJECTIONS.test(kind)));
}

const TOKEN_REJECTIONS = /(expired|invalid|revoked)[\w-]*token|token[\w-]*(expired|invalid|revoked)/i;

/** The maximum number of trace ids to keep, which is sufficient for an outage in which many requests fail concurrently. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");

/**
 * Creates a function that identifies failures that the service may have stored for an idempotency key (§4.7). A trace id proves something
 * only if it belongs to a single request, because some services return the same id in every reply.
 *
 * @returns a function that records the reply to a request, and returns the status and the body of a failure with a trace id of its own. A
 * request is identified by its idempotency key or a unique symbol
 */
export function createFailureMemory(): (attempt: Attempt, request: string | symbol) => string | undefined {
  const requests = new Map<string, string | symbol>();
  return (attempt, request) => {
    if (attempt.kind !== "reply") return undefined;
    const { status, problem, body } = attempt.reply;
    const { traceId = "" } = problem ?? {};
    if (!/[1-9]/.test(traceId)) return undefined; // a placeholder such as "", "none" or "0000-0000"
    const owner = (requests.get(traceId) ?? request) === request ? request : SHARED;
    requests.delete(traceId);
    requests.set(traceId, owner);
    const [oldest = ""] = requests.keys();
    if (requests.size > MAX_REMEMBERED_IDS) requests.delete(oldest);
    if (owner === SHARED || status < 500 || typeof request !== "string") return undefined;
    return isDerivedFrom(request, traceId) ? undefined : JSON.stringify([status, body]);
  };
}

function isDerivedFrom(key: string, traceId: string): boolean {
  const normalized = (id: string): string => id.replaceAll("-", "").toLowerCase();
  return normalized(traceId).includes(normalized(key));
}

/**
 * Reports whether the service replays a failure that it has stored for the idempotency key (§4.7). Only a new key can then change the
 * result. All attempts must have received the same reply, because equal trace ids alone prove nothing.
 */
export function isStoredFailure(failures: readonly (string | undefined)[]): boolean {
  const [first] = failures;
  return first !== undefined && failures.length > 1 && failures.every((reply) => reply === first);
}
