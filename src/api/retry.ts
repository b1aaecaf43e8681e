import type { Backoff } from "../operations/backoff";
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
