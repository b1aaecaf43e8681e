import { CloudInfraError } from "../diagnostics/error";
import { type Clock, type Deadline, limitOf, remainingMs, within } from "../polling/clock";
import { type Backoff, type PauseListener, pauseMs } from "../polling/schedule";
import type { Auth } from "./auth";
import type { Connections } from "./connections";
import type { Endpoint } from "./endpoint";
import {
  attemptError,
  classifyAttempt,
  createFailureTracker,
  deadlineReached,
  type ExpectedReply,
  interruptedRequest,
  isSuccessStatus,
  isTokenRejected,
  isTransient,
  isUsable,
  keyConflict,
  type RequestHistory,
  withUnknownOutcome,
} from "./outcome";
import { createRetryBudget, type RateLimiter } from "./rate-limiter";
import { type Attempt, exchange, type WireReply, type WireRequest } from "./transport";

export interface CallOptions {
  /** The deadline of the whole call, including retries and pauses. */
  deadline: Deadline;
  signal?: AbortSignal | undefined;
  /** Called when the call starts or stops waiting for the rate limit or a retry. */
  progress?: PauseListener | undefined;
}

export type ApiRequest = RequestContent & RepeatableMethod;

/** Every request can be repeated safely: a POST with its idempotency key (§4.7), and a PUT with its revision tag without quotes (§4.5). */
type RepeatableMethod =
  | { readonly method: "GET" | "DELETE"; readonly idempotencyKey?: undefined; readonly ifMatch?: undefined }
  | { readonly method: "POST"; readonly idempotencyKey: string; readonly ifMatch?: undefined }
  | { readonly method: "PUT"; readonly idempotencyKey?: undefined; readonly ifMatch: string };

interface RequestContent extends ExpectedReply {
  /** A percent-encoded path below the base URL, or a complete URL with the endpoint's origin. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** The token to send instead of the client's token, without renewal. An empty string sends no token. @default the client's token */
  readonly token?: string | undefined;
  /** The JSON body, sent unchanged in every attempt. */
  readonly body?: string | undefined;
  /**
   * Reports whether the idempotency key has expired. Called before each attempt, because a suspended machine doesn't advance `clock`. If
   * the key has expired, the request fails with `key_expired`.
   *
   * @param isRetry whether an earlier attempt has an unknown outcome
   */
  readonly isKeyExpired?: ((isRetry: boolean) => boolean) | undefined;
  /** Whether the path always exists in this API. A 404 without a problem document then comes from a different service. @default false */
  readonly collection?: boolean | undefined;
}

/** A successful reply. The caller parses the body. */
export interface ApiReply {
  readonly status: number;
  /** The parsed body, or `undefined` if the body is empty. */
  readonly json: unknown;
  readonly etag: string | undefined;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The requested URL, against which relative links are resolved. */
  readonly url: URL;
  /** The request that was sent. Errors about the content of the reply contain this data. */
  readonly request: { readonly method: string; readonly path: string; readonly attempts: number };
}

/** The default maximum number of attempts of a request, including the first. With `BACKOFF`, eight attempts take about 30 s. */
const MAX_ATTEMPTS = 8;
/** The time limit of one attempt, in milliseconds. */
const ATTEMPT_MS = 60_000;
/** Full jitter from 0.5 s to 20 s. */
const BACKOFF: Backoff = { baseMs: 500, capMs: 20_000 };

/** The maximum number of unreadable success replies, because a wrong endpoint is more likely than a temporary failure. */
const MAX_UNREADABLE_REPLIES = 3;

export interface SendOptions {
  /** The maximum number of attempts of a request, including the first. @default 8 */
  retry?: { readonly maxAttempts?: number } | undefined;
  clock: Clock;
  /** Returns a random number from 0 to 1, for jitter. */
  random: () => number;
  /** The connections, which the caller must close. */
  dispatcher: Connections;
  /** Called with each attempt to send a request, for `probe`. */
  observe?: Observer | undefined;
}

/** Called with each attempt to send a request, its result, and its duration in milliseconds. */
export type Observer = (request: WireRequest, attempt: Attempt, tookMs: number) => void;

export type Send = (request: ApiRequest, options: CallOptions) => Promise<ApiReply>;

/** Creates the function that sends all requests. The function applies the rate limit, the token, retries and error handling. */
export function createSend(
  parts: SendOptions & { endpoint: Endpoint; auth: Auth; limits: RateLimiter },
): Send {
  const { auth, clock, endpoint, limits, random } = parts;
  const { maxAttempts = MAX_ATTEMPTS } = parts.retry ?? {};
  const reserveRetry = createRetryBudget(clock);
  const storedFailureOf = createFailureTracker();

  return async function send(request, { deadline, signal: outer, progress }) {
    const url = urlOf(request, endpoint);
    const limit = limitOf(remainingMs(deadline, clock), clock, outer);
    const { method, collection } = request;
    const history: RequestHistory = { method, url, collection, attempts: 0, unknown: [] };
    const identity = request.idempotencyKey ?? Symbol(method);
    let renewed = false;
    try {
      for (;;) {
        const { attempt, token } = await inTurn(request, history, { signal: limit.signal, progress });
        const outcome = classifyAttempt(request, attempt);
        if (outcome === "done" && attempt.kind === "reply") return replyOf(attempt.reply, history);
        const storedAs = storedFailureOf(attempt, identity);
        if (outcome === "unknown") history.unknown.push(storedAs);

        const isRejected = attempt.kind === "reply" && isTokenRejected(attempt.reply);
        if (isRejected && !renewed && request.token === undefined) {
          renewed = true;
          if ((await auth.renewed(token, limit.signal)) !== undefined) continue;
        }

        const failure = attemptError(attempt, history, auth);
        if (!mayRetry(request, attempt, history.attempts, maxAttempts) || failure.replayed) throw failure;
        const pause = pauseMs(BACKOFF, history.attempts, random, failure.retryAfterMs);
        const waitMs = Math.max(pause, reserveRetry());
        history.last = failure;
        if (waitMs >= remainingMs(deadline, clock)) throw deadlineReached(history, deadline);
        progress?.pausing({ for: "retry", after: failure, at: clock.now() + waitMs });
        await clock.sleep(waitMs, limit.signal);
      }
    } catch (error) {
      throw limit.signal.aborted
        ? interruptedRequest(history, deadline, outer)
        : withUnknownOutcome(error, history);
    } finally {
      progress?.pausing(undefined);
      limit.release();
    }
  };

  /** Sends one attempt as soon as the rate limit allows a new request. */
  async function inTurn(
    request: ApiRequest,
    history: RequestHistory,
    { signal, progress }: { signal: AbortSignal; progress: PauseListener | undefined },
  ): Promise<{ attempt: Attempt; token: string }> {
    // Before a retry, the listener keeps displaying the failure of the previous attempt.
    const isFirst = history.last === undefined;
    if (isFirst) progress?.pausing({ for: "turn", isSlowed: limits.isSlowed });
    const leave = await limits.enter(signal);
    if (isFirst) progress?.pausing(undefined);
    try {
      // The token is fetched after the wait, because an earlier token might expire during the wait.
      const token = request.token ?? (await auth.token(signal));
      if (request.isKeyExpired?.(history.unknown.length > 0))
        throw new CloudInfraError("key_expired", "the idempotency key of the request has expired");
      return { attempt: await sendOnce(request, token, history, signal), token };
    } finally {
      leave();
    }
  }

  async function sendOnce(
    request: ApiRequest,
    token: string,
    history: RequestHistory,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const { method, body } = request;
    const wire = { method, url: history.url, headers: headersOf(request, token), body };
    const limit = limitOf(ATTEMPT_MS, clock, signal);
    history.attempts++;
    const delivery = { neverSent: true };
    const started = clock.now();
    try {
      const options = { clean: auth.redact, signal: limit.signal, delivery };
      const attempt = await within(limit.signal, exchange(parts.dispatcher, wire, options));
      if (attempt.kind === "reply") limits.recordReply(attempt.reply);
      parts.observe?.(wire, attempt, clock.now() - started);
      return attempt;
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      if (!signal.aborted) return { kind: "timeout", ...delivery };
      // The call was cancelled or has reached its deadline. The service may have received the request.
      if (!delivery.neverSent) history.unknown.push(undefined);
      throw signal.reason;
    } finally {
      limit.release();
    }
  }
}

/** Reports whether to retry a failed attempt, because the failure may be temporary. */
function mayRetry(request: ApiRequest, attempt: Attempt, attempts: number, maxAttempts: number): boolean {
  if (attempts >= maxAttempts) return false;
  if (attempt.kind === "timeout") return true;
  if (attempt.kind === "failure") return !attempt.failure.final;
  const { reply } = attempt;
  if (isSuccessStatus(reply))
    return !isUsable(request, reply) && reply.body.kind !== "too large" && attempts < MAX_UNREADABLE_REPLIES;
  return isTransient(reply.status) || keyConflict(reply) === "in progress";
}

function replyOf(reply: WireReply, { method, url, attempts }: RequestHistory): ApiReply {
  return {
    status: reply.status,
    json: reply.body.kind === "json" ? reply.body.value : undefined,
    etag: reply.header("etag"),
    location: reply.header("location"),
    retryAfterMs: reply.retryAfterMs,
    url,
    request: { method, path: url.pathname, attempts },
  };
}

export function urlOf({ path, query = {} }: ApiRequest, endpoint: Endpoint): URL {
  const url = new URL(path.startsWith("/") ? endpoint.base + path : path);
  // The token must not be sent to a link with a different origin.
  if (url.origin !== endpoint.origin) {
    throw new CloudInfraError("bad_reply", `a link points to a different origin, ${url.origin}`);
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

function headersOf({ body, idempotencyKey, ifMatch }: ApiRequest, token: string): Record<string, string> {
  return {
    accept: "application/json, application/problem+json",
    "accept-encoding": "identity",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    "user-agent": "pulumi-cloudinfra",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatchOf(ifMatch) }),
  };
}

/** Formats a revision for the If-Match header: strong and quoted (§4.5). */
export function ifMatchOf(revision: string): string {
  if (!/^[\x21\x23-\x7e\u0080-\u00ff]+$/.test(revision)) {
    throw new CloudInfraError("bad_reply", "the revision contains characters that If-Match doesn't allow", {
      hint: "Set `cloudinfra:revisionField` to the field that contains the revision",
    });
  }
  return `"${revision}"`;
}
