import type { Backoff } from "../polling/schedule";
import type { Attempt, WireReply, WireRequest } from "./transport";

/** The properties of a request that determine whether an attempt succeeded and may be repeated. */
export interface RetryableRequest {
  readonly method: WireRequest["method"];
  /** The idempotency key, which makes a POST repeatable (§4.7). */
  readonly idempotencyKey?: string | undefined;
  /** The revision tag without quotes, which makes a PUT repeatable (§4.5). */
  readonly ifMatch?: string | undefined;
  /** Whether a success must have a body. @default false */
  readonly needsBody?: boolean | undefined;
}

export interface RetryOptions {
  /** The number of attempts of one request, including the first. @default 8, which take about 30 s */
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

/** An unreadable body with a success status usually means a wrong endpoint rather than a temporary failure. */
const MAX_UNREADABLE_REPLIES = 3;

/** Decides whether to retry a failed attempt. Retries only if a retry is safe and the failure may be temporary. */
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

/** Reports whether a status may be temporary: 408, 425, 429, and every 5xx except 501, including the nonstandard codes of gateways. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** Whether the service processed a request or rejected it definitively. `unknown` if neither is certain. */
export type Outcome = "done" | "rejected" | "unknown";

/**
 * The statuses that a service sends only before it processes a request. With any other status, it may have processed the request. That
 * includes every 5xx, 408, 425, redirects, and 406, which frameworks send after processing.
 */
const REJECTIONS: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431,
]);

/**
 * Classifies one attempt on its own. A request is rejected only if all its attempts were rejected. A status such as 401, 404 or 422 proves
 * nothing about an earlier attempt without a reply.
 */
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

/** Reports whether a successful reply has a readable body, if the request needs one. */
function isUsable(
  { needsBody }: Pick<RetryableRequest, "needsBody">,
  { status, body, header }: WireReply,
): boolean {
  if (body.kind === "empty") return !needsBody || status === 204 || header("location") !== undefined;
  return body.kind === "json";
}

/**
 * Returns the conflict that a reply reports for the idempotency key (§4.7). The first request with the key may still be in progress, or the
 * key belongs to a different request. Only machine-readable members are evaluated, because prose may contain any word.
 */
function keyConflict({ status, problem }: WireReply): "in progress" | "reused" | undefined {
  const kind = `${problem?.code ?? ""} ${problem?.type ?? ""}`;
  if (status < 400 || status >= 500 || !/idempoten/i.test(kind)) return undefined;
  if (/invalid|malformed|missing|required/i.test(kind)) return undefined;
  return status === 409 && !/reus|mismatch|differ/i.test(kind) ? "in progress" : "reused";
}

/** The maximum number of trace ids to keep. It is large enough for an outage in which many requests fail at once. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");

/**
 * Creates a function that checks whether trace ids identify the replies to one request. Some services send the same id with every reply.
 *
 * @returns a function that records a reply's trace id and its request: the idempotency key of a creation, or a unique symbol for any other
 * request. It returns whether the id identifies the reply. Empty ids, constant ids, ids derived from the key, and ids that a different
 * request also received don't identify a reply.
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
    // Ids such as "", "none" and "0000-0000" are placeholders.
    return owner === request && /[1-9]/.test(traceId) && !isDerivedFrom(request, traceId);
  };
}

function isDerivedFrom(request: string | symbol, traceId: string): boolean {
  const normalized = (id: string) => id.replaceAll("-", "").toLowerCase();
  return typeof request === "string" && normalized(traceId).includes(normalized(request));
}

/**
 * Reads the Retry-After header of a reply: seconds or an HTTP date. The wait is measured from the Date header, so that a wrong local clock
 * has no effect.
 *
 * @returns milliseconds, or undefined if the header is missing or invalid
 */
export function retryAfterMs(header: (name: string) => string | undefined): number | undefined {
  const text = header("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) {
    const ms = Number(text) * 1_000;
    return Number.isFinite(ms) ? ms : undefined;
  }
  // Date.parse also accepts "-5" and "12 apples". An HTTP date begins with the name of a weekday.
  if (!/^[a-z]{3,9},? /i.test(text)) return undefined;
  const at = parseHttpDate(text);
  const now = parseHttpDate(header("date")?.trim() ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/**
 * Parses an HTTP date into milliseconds since 1970. A date in asctime form (`Sun Nov  6 08:49:37 1994`) is in UTC although it has no time
 * zone.
 */
function parseHttpDate(text: string): number {
  return Date.parse(/^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i.test(text) ? `${text} GMT` : text);
}
