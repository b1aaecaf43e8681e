import type { Backoff } from "../polling/backoff";
import type { Clock } from "../polling/clock";
import { type ExpectedReply, isSuccess, isUsable, keyConflict } from "./outcome";
import type { Attempt } from "./transport";

/** What the policy has to know of a request. */
export interface Repeatable extends ExpectedReply {
  readonly method: string;
  readonly idempotencyKey?: string | undefined;
  readonly ifMatch?: string | undefined;
}

export interface RetryOptions {
  /** Tries of one request, the first included. @default 8, about half a minute */
  maxAttempts: number;
  /** Longest time of one attempt from the first byte sent to the last received, in milliseconds. @default 60000 */
  attemptMs: number;
  backoff: Backoff;
}

export const DEFAULT_RETRY: RetryOptions = {
  maxAttempts: 8,
  attemptMs: 60_000,
  backoff: { baseMs: 500, capMs: 20_000 },
};

/** An unreadable success is more often the wrong endpoint than a passing fault. */
const MAX_UNREADABLE_REPLIES = 3;

/** Whether to retry: repeats only what can be repeated without harm, after what may pass. Pure; pauses and budgets are request.ts's. */
export function mayRetry(
  request: Repeatable,
  attempt: Attempt,
  attempts: number,
  options: RetryOptions,
): boolean {
  if (attempts >= options.maxAttempts || !isRepeatable(request)) return false;
  if (attempt.kind === "silence") return true;
  if (attempt.kind === "failure") return !attempt.failure.final;
  const { reply } = attempt;
  if (isSuccess(reply))
    return !isUsable(request, reply) && reply.body.kind !== "too large" && attempts < MAX_UNREADABLE_REPLIES;
  return isTransient(reply.status) || keyConflict(reply) === "in progress";
}

/** Whether a status may be another one soon: 408, 425, 429, and every 5xx except 501, whatever a gateway has made up. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

function isRepeatable({ method, idempotencyKey, ifMatch }: Repeatable): boolean {
  if (method === "POST") return idempotencyKey !== undefined;
  if (method === "PUT") return ifMatch !== undefined;
  return method === "GET" || method === "DELETE";
}

/**
 * Reads a Retry-After header: seconds, or an HTTP date.
 *
 * @param date the reply's own Date header; a date is measured against it, so that our clock may be wrong
 * @returns milliseconds, or undefined where there is nothing sensible
 */
export function retryAfterMs(header: string | undefined, date: string | undefined): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return finite(Number(text) * 1_000);
  // Date.parse takes "-5" and "12 apples" for dates; an HTTP date begins with the name of a day.
  if (!/^[a-z]{3,9},? /i.test(text)) return undefined;
  const at = httpDate(text);
  const now = httpDate(date?.trim() ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined;
}

/** Milliseconds since 1970. The form of asctime (`Sun Nov  6 08:49:37 1994`) means UTC, too, but names no zone. */
function httpDate(text: string): number {
  return Date.parse(/^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i.test(text) ? `${text} GMT` : text);
}

/** Spaces the retries of a whole client, so that a dying service is not hammered by all its requests at once. */
export interface RetryBudget {
  /** Milliseconds until one more retry may start; reserves it. */
  reserve(): number;
}

export interface RetryBudgetOptions {
  /** So many retries may start without being spaced. */
  burst: number;
  /** So many more each second. */
  perSecond: number;
}

/** A token bucket whose tokens can be promised ahead: a retry is put off, never refused, when the bucket is empty. */
export function createRetryBudget({ burst, perSecond }: RetryBudgetOptions, clock: Clock): RetryBudget {
  let tokens = burst;
  let countedAt = clock.now();
  return {
    reserve() {
      const now = clock.now();
      tokens = Math.min(burst, tokens + ((now - countedAt) / 1_000) * perSecond) - 1;
      countedAt = now;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1_000;
    },
  };
}
