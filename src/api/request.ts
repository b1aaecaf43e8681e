import type { Dispatcher } from "undici";
import { CloudInfraError } from "../diagnostics/error";
import { pauseMs } from "../operations/backoff";
import type { Clock } from "../operations/clock";
import { type Deadline, limitOf, remainingMs, within } from "../operations/deadline";
import type { Auth } from "./auth";
import type { RetryBudget } from "./budget";
import type { Endpoint } from "./endpoint";
import { type Failed, failureOf, interruption, outOfTime, stillUnsure } from "./failure";
import type { Limits } from "./limits";
import { isUnreadable, isUnsure, mayRetry, type Outcome, type RetryOptions } from "./retry";
import { retryAfterMs } from "./retry-after";
import { exchange, transportFailure, type WireReply, type WireRequest } from "./transport";

/** How long a call may take, and who may end it earlier. */
export interface CallOptions {
  /** For the call as a whole, retries and pauses included. */
  deadline: Deadline;
  /** Ends it at once. */
  signal?: AbortSignal | undefined;
}

/** A request of this API. */
export interface ApiRequest {
  readonly method: WireRequest["method"];
  /** Below the endpoint's base, percent-encoded; or a whole URL of the endpoint's origin. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** JSON text, sent as it is on every try. */
  readonly body?: string | undefined;
  /** Makes a POST repeatable (§4.7). */
  readonly idempotencyKey?: string | undefined;
  /** Revision tag without quotes; makes a PUT repeatable (§4.5). */
  readonly ifMatch?: string | undefined;
  /** A success without a body is no answer to this request. @default false */
  readonly needsBody?: boolean | undefined;
  /** Its address always exists in this API: a 404 without a problem document means another service. @default false */
  readonly collection?: boolean | undefined;
}

/** A success. */
export interface ApiReply {
  readonly status: number;
  /** Undefined where the body is empty. */
  readonly json: unknown;
  readonly etag: string | undefined;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The URL that answered: relative links start from it. */
  readonly url: URL;
  /** For errors about what the reply says. */
  readonly request: { readonly method: string; readonly path: string; readonly attempts: number };
}

/** What a request needs; one of each for a client's life. */
export interface RequestParts {
  readonly endpoint: Endpoint;
  readonly auth: Auth;
  readonly limits: Limits;
  readonly budget: RetryBudget;
  readonly retry: RetryOptions;
  readonly clock: Clock;
  readonly random: () => number;
  readonly dispatcher: Dispatcher;
  readonly userAgent: string;
  /** Told of each attempt; never of the token. */
  readonly onAttempt: (attempt: {
    method: string;
    path: string;
    status?: number | undefined;
    attempt: number;
    ms: number;
  }) => void;
}

export type Send = (request: ApiRequest, options: CallOptions) => Promise<ApiReply>;

/** The way of every request: url → auth → limits → send → retry → problem. What a success says is parsed by the caller. */
export function createSend(parts: RequestParts): Send {
  const { auth, budget, clock, endpoint, limits, random, retry } = parts;

  return async function send(request, { deadline, signal: outer }) {
    const url = urlOf(request, endpoint);
    const limit = limitOf(remainingMs(deadline, clock), clock, outer);
    const seen: Failed = { method: request.method, path: url.pathname, attempts: 0, unsure: false };
    let renewed = false;
    try {
      let token = await auth.token(limit.signal);
      for (;;) {
        const outcome = await attempt(request, url, token, seen, limit.signal);
        seen.unsure ||= isUnsure(request, outcome);
        if (outcome.kind === "reply" && isUsable(request, outcome.reply)) {
          return replyOf(outcome.reply, url, seen);
        }

        if (outcome.kind === "reply" && outcome.reply.status === 401 && !renewed) {
          renewed = true;
          const fresh = await auth.renewed(token, limit.signal);
          if (fresh !== undefined) {
            token = fresh;
            continue;
          }
        }

        const failure = failureOf(request, outcome, seen, auth);
        if (!mayRetry(request, outcome, seen.attempts, retry) || failure.replayed) throw failure;
        const pause = pauseMs(retry.backoff, seen.attempts, random, failure.retryAfterMs);
        const waitMs = Math.max(pause, budget.reserve());
        if (waitMs >= remainingMs(deadline, clock)) throw outOfTime(failure, deadline);
        seen.last = failure;
        await clock.sleep(waitMs, limit.signal);
        token = await auth.token(limit.signal);
      }
    } catch (error) {
      throw limit.signal.aborted ? interruption(seen, deadline, outer) : stillUnsure(error, seen);
    } finally {
      limit.release();
    }
  };

  /** limits → send: one try, however it ends. */
  async function attempt(
    request: ApiRequest,
    url: URL,
    token: string,
    seen: Failed,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const leave = await limits.enter(signal);
    const limit = limitOf(retry.attemptMs, clock, signal);
    const startedMs = clock.now();
    seen.attempts++;
    let status: number | undefined;
    try {
      const wire = {
        method: request.method,
        url,
        headers: headersOf(request, token, parts.userAgent),
        body: request.body,
      };
      const reply = await within(limit.signal, exchange(parts.dispatcher, wire, auth.redact, limit.signal));
      status = reply.status;
      limits.answered(status);
      return { kind: "reply", reply };
    } catch (error) {
      // Whoever ends the call in the middle of a try does not know either whether it arrived.
      if (signal.aborted) seen.unsure = true;
      if (signal.aborted) throw signal.reason;
      if (limit.signal.aborted) return { kind: "silence" };
      return { kind: "failure", failure: transportFailure(error), error };
    } finally {
      limit.release();
      leave();
      report({
        method: request.method,
        path: url.pathname,
        status,
        attempt: seen.attempts,
        ms: clock.now() - startedMs,
      });
    }
  }

  function report(attempt: Parameters<RequestParts["onAttempt"]>[0]): void {
    try {
      parts.onAttempt(attempt);
    } catch {
      // By contract: whoever only watches can't fail a request.
    }
  }
}

function isUsable(request: ApiRequest, reply: WireReply): boolean {
  const success = reply.status >= 200 && reply.status < 300;
  return success && reply.body.kind !== "too large" && !isUnreadable(request, reply);
}

function urlOf({ path, query = {} }: ApiRequest, endpoint: Endpoint): URL {
  const url = new URL(path.startsWith("/") ? endpoint.base + path : path);
  // The last gate: whatever link led here, the token leaves for no other origin.
  if (url.origin !== endpoint.origin) {
    throw new CloudInfraError("bad_reply", `a link leads away from the service, to ${url.origin}`);
  }
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url;
}

function headersOf(
  { body, idempotencyKey, ifMatch }: ApiRequest,
  token: string,
  userAgent: string,
): Record<string, string> {
  return {
    accept: "application/json, application/problem+json",
    authorization: `Bearer ${token}`,
    "user-agent": userAgent,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === undefined ? {} : { "if-match": `"${ifMatch}"` }),
  };
}

function replyOf(reply: WireReply, url: URL, { method, path, attempts }: Failed): ApiReply {
  return {
    status: reply.status,
    json: reply.body.kind === "json" ? reply.body.value : undefined,
    etag: reply.header("etag"),
    location: reply.header("location"),
    retryAfterMs: retryAfterMs(reply.header("retry-after"), reply.header("date")),
    url,
    request: { method, path, attempts },
  };
}
