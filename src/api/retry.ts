import type { Backoff } from "../polling/schedule";
import { type ExpectedReply, isSuccess, isUsable, keyConflict } from "./outcome";
import type { Attempt, WireRequest } from "./transport";

/** The properties of a request that determine whether an attempt may be repeated. */
export interface RetryableRequest extends ExpectedReply {
  readonly method: WireRequest["method"];
  /** The idempotency key, with which a POST can be repeated safely (§4.7). */
  readonly idempotencyKey?: string | undefined;
  /** The revision tag without quotes, with which a PUT can be repeated safely (§4.5). */
  readonly ifMatch?: string | undefined;
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
