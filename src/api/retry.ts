import type { Backoff } from "../polling/schedule";
import type { Attempt, WireReply, WireRequest } from "./transport";

/** The properties of a request that determine whether an attempt succeeded and may be repeated. */
export interface RetryableRequest {
  readonly method: WireRequest["method"];
  /** The idempotency key, with which a POST can be repeated safely (§4.7). */
  readonly idempotencyKey?: string | undefined;
  /** The revision tag without quotes, with which a PUT can be repeated safely (§4.5). */
  readonly ifMatch?: string | undefined;
  /** Whether a success must have a body. @default false */
  readonly needsBody?: boolean | undefined;
}

export interface RetryOptions {
  /** The maximum number of attempts of a request, including the first. @default 8, which take about 30 s */
  maxAttempts: number;
  /** The time limit of one attempt, in milliseconds. @default 60000 */
  attemptMs: number;
  backoff: Backoff;
}

export const DEFAULT_RETRY: RetryOptions = {
  maxAttempts: 8,
  attemptMs: 60_000,
  backoff: { baseMs: 500, capMs: 20_000 },
};

/** The maximum number of unreadable success replies, because a wrong endpoint is more likely than a temporary failure. */
const MAX_UNREADABLE_REPLIES = 3;

/** Reports whether to retry a failed attempt. A retry must be safe, and the failure must possibly be temporary. */
export function mayRetry(
  request: RetryableRequest,
  attempt: Attempt,
  attempts: number,
  options: RetryOptions,
): boolean {
  if (attempts >= options.maxAttempts || !isRepeatable(request)) return false;
  if (attempt.kind === "timeout") return true;
  if (attempt.kind === "failure") return !attempt.failure.final;
  const { reply } = attempt;
  if (isSuccess(reply))
    return !isUsable(request, reply) && reply.body.kind !== "too large" && attempts < MAX_UNREADABLE_REPLIES;
  return isTransient(reply.status) || keyConflict(reply) === "in progress";
}

function isRepeatable({ method, idempotencyKey, ifMatch }: RetryableRequest): boolean {
  if (method === "POST") return idempotencyKey !== undefined;
  if (method === "PUT") return ifMatch !== undefined;
  return method === "GET" || method === "DELETE";
}

/** Reports whether a status may be temporary: 408, 425, 429, or any 5xx except 501. Gateways also use nonstandard 5xx codes. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
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
export function classifyAttempt(request: Pick<RetryableRequest, "needsBody">, attempt: Attempt): Outcome {
  if (attempt.kind === "failure") return attempt.failure.neverSent ? "rejected" : "unknown";
  if (attempt.kind === "timeout") return attempt.neverSent ? "rejected" : "unknown";
  const { reply } = attempt;
  if (isSuccess(reply)) return isUsable(request, reply) ? "done" : "unknown";
  return REJECTIONS.has(reply.status) && keyConflict(reply) === undefined ? "rejected" : "unknown";
}

export function isSuccess({ status }: WireReply): boolean {
  return status >= 200 && status < 300;
}

/** Reports whether a successful reply has a readable body, if the request requires a body. */
function isUsable(
  { needsBody }: Pick<RetryableRequest, "needsBody">,
  { status, body, header }: WireReply,
): boolean {
  if (body.kind === "empty") return !needsBody || status === 204 || header("location") !== undefined;
  return body.kind === "json";
}

/**
 * Returns the conflict about the idempotency key that a reply contains (§4.7). The first request with the key may still be running, or the
 * key may belong to a different request. Only machine-readable members are evaluated, because prose may contain any word.
 */
function keyConflict({ status, problem }: WireReply): "in progress" | "reused" | undefined {
  const kind = `${problem?.code ?? ""} ${problem?.type ?? ""}`;
  if (status < 400 || status >= 500 || !/idempoten/i.test(kind)) return undefined;
  if (/invalid|malformed|missing|required/i.test(kind)) return undefined;
  return status === 409 && !/reus|mismatch|differ/i.test(kind) ? "in progress" : "reused";
}

/** The maximum number of trace ids to keep, which is sufficient for an outage in which many requests fail concurrently. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");

/**
 * Creates a function that checks whether a trace id belongs to a single request, because some services return the same id in every reply.
 *
 * @returns a function that records the trace id of a reply, and reports whether the id belongs only to the given request. A request is
 * identified by its idempotency key or a unique symbol. Empty, constant and derived ids belong to no request.
 */
export function createTraceIds(): (traceId: string | undefined, request: string | symbol) => boolean {
  const requests = new Map<string, string | symbol>();
  return (traceId = "", request) => {
    const known = requests.get(traceId) ?? request;
    const owner = known === request ? request : SHARED;
    requests.delete(traceId);
    requests.set(traceId, owner);
    for (const oldest of requests.keys()) {
      if (requests.size <= MAX_REMEMBERED_IDS) break;
      requests.delete(oldest);
    }
    // Trace ids such as "", "none" and "0000-0000" are placeholders.
    return owner === request && /[1-9]/.test(traceId) && !isDerivedFrom(request, traceId);
  };
}

function isDerivedFrom(request: string | symbol, traceId: string): boolean {
  const normalized = (id: string) => id.replaceAll("-", "").toLowerCase();
  return typeof request === "string" && normalized(traceId).includes(normalized(request));
}

/**
 * Parses the Retry-After header of a reply, which contains seconds or an HTTP date. Dates are compared with the Date header, because the
 * local clock may be wrong.
 *
 * @returns milliseconds, or undefined if the header is missing or invalid
 */
export function retryAfterMs(header: (name: string) => string | undefined): number | undefined {
  const text = header("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) {
    const ms = Number(text) * 1_000;
    return Number.isFinite(ms) ? ms : undefined;
  }
  // `Date.parse` also accepts "-5" and "12 apples". An HTTP date begins with the name of a weekday.
  if (!/^[a-z]{3,9},? /i.test(text)) return undefined;
  const at = parseHttpDate(text);
  const now = parseHttpDate(header("date")?.trim() ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/**
 * Parses an HTTP date into milliseconds since 1970. A date in asctime format (`Sun Nov 6 08:49:37 1994`) has no time zone but is in UTC.
 */
function parseHttpDate(text: string): number {
  return Date.parse(/^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i.test(text) ? `${text} GMT` : text);
}
