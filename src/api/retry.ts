import type { Backoff } from "../operations/backoff";
import type { TransportFailure, WireReply } from "./transport";

/** How an attempt ended. */
export type Outcome =
  | { readonly kind: "reply"; readonly reply: WireReply }
  | { readonly kind: "failure"; readonly failure: TransportFailure; readonly error: unknown }
  | { readonly kind: "silence" };

/** What the policy has to know of a request. */
export interface Repeatable {
  readonly method: string;
  readonly idempotencyKey?: string | undefined;
  readonly ifMatch?: string | undefined;
  /** An empty success is no answer to it. */
  readonly needsBody?: boolean | undefined;
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
const MOST_UNREADABLE = 3;
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);
/** After these the work may have been done all the same; any other status is a definite answer. */
const INDEFINITE = new Set([303, 408, 500, 502, 503, 504]);

/** Whether to try again: what can be repeated without harm, after what may pass. Pure; pauses and budgets are request.ts's. */
export function mayRetry(
  request: Repeatable,
  outcome: Outcome,
  attempt: number,
  options: RetryOptions,
): boolean {
  if (attempt >= options.maxAttempts || !isRepeatable(request)) return false;
  if (outcome.kind === "silence") return true;
  if (outcome.kind === "failure") return !outcome.failure.final;
  const { status } = outcome.reply;
  if (isSuccess(status)) return isUnreadable(request, outcome.reply) && attempt < MOST_UNREADABLE;
  return TRANSIENT.has(status) || (status === 409 && saysFirstInProgress(request, outcome.reply));
}

/** Whether an attempt that ended so may have been carried out without our knowing the result. */
export function isUnsure(request: Repeatable, outcome: Outcome): boolean {
  if (outcome.kind === "failure") return !outcome.failure.neverSent;
  if (outcome.kind === "silence") return true;
  const { status } = outcome.reply;
  if (isSuccess(status)) return isUnreadable(request, outcome.reply) && !isPage(outcome.reply);
  if (status === 409) return saysFirstInProgress(request, outcome.reply);
  return INDEFINITE.has(status);
}

/** A page for people: something else answered, such as a portal or a wrong address, and the request went no further. */
function isPage({ body }: WireReply): boolean {
  return body.kind === "unreadable" && body.what === "html";
}

/** A success whose body can't be used for what the request needs. */
export function isUnreadable({ needsBody }: Repeatable, { status, body, header }: WireReply): boolean {
  if (!isSuccess(status)) return false;
  if (body.kind === "empty") return needsBody === true && status !== 204 && header("location") === undefined;
  return body.kind === "unreadable";
}

/** A lost first try that is still being worked on: the key is known, its answer is not there yet (§4.7). */
function saysFirstInProgress({ method, idempotencyKey }: Repeatable, { body }: WireReply): boolean {
  if (method !== "POST" || idempotencyKey === undefined || body.kind !== "json") return false;
  return /in[\s_-]?progress|outstanding|(being|still) process/i.test(JSON.stringify(body.value));
}

function isRepeatable({ method, idempotencyKey, ifMatch }: Repeatable): boolean {
  if (method === "POST") return idempotencyKey !== undefined;
  if (method === "PUT") return ifMatch !== undefined;
  return method === "GET" || method === "DELETE";
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
