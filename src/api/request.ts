import { pauseMs } from "../operations/backoff";
import type { Clock } from "../operations/clock";
import { type Deadline, limitOf, remainingMs, within } from "../operations/deadline";
import type { PauseSeen } from "../operations/pause";
import type { Auth } from "./auth";
import type { RetryBudget } from "./budget";
import type { Connections } from "./connections";
import { interruption, outOfTime, stillUnsure } from "./ending";
import type { Endpoint } from "./endpoint";
import { type Failed, failureOf } from "./failure";
import type { Limits } from "./limits";
import { isUnreadable, isUnsure, mayRetry, type Outcome, type RetryOptions } from "./retry";
import { retryAfterMs } from "./retry-after";
import { exchange, transportFailure, type WireReply } from "./transport";
import { type ApiRequest, headersOf, urlOf } from "./wire";

/** How long a call may take, and who may end it earlier. */
export interface CallOptions {
  /** For the call as a whole, retries and pauses included. */
  deadline: Deadline;
  /** Ends it at once. */
  signal?: AbortSignal | undefined;
  /** Told while the call waits for something else than the service's answer. */
  progress?: PauseSeen | undefined;
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
  readonly dispatcher: Connections;
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

/** The way of every request: url → limits → auth → send → retry → problem. What a success says is parsed by the caller. */
export function createSend(parts: RequestParts): Send {
  const { auth, budget, clock, endpoint, limits, random, retry } = parts;

  return async function send(request, { deadline, signal: outer, progress }) {
    const url = urlOf(request, endpoint);
    const limit = limitOf(remainingMs(deadline, clock), clock, outer);
    const seen: Failed = { method: request.method, path: url.pathname, attempts: 0, unsure: false };
    let renewed = false;
    try {
      for (;;) {
        const { outcome, token } = await attempt(request, url, seen, { signal: limit.signal, progress });
        seen.unsure ||= isUnsure(request, outcome);
        if (outcome.kind === "reply" && isUsable(request, outcome.reply)) {
          return replyOf(outcome.reply, url, seen);
        }

        if (outcome.kind === "reply" && outcome.reply.status === 401 && !renewed) {
          renewed = true;
          if ((await auth.renewed(token, limit.signal)) !== undefined) continue;
        }

        const failure = failureOf(request, outcome, seen, auth);
        if (!mayRetry(request, outcome, seen.attempts, retry) || failure.replayed) throw failure;
        const pause = pauseMs(retry.backoff, seen.attempts, random, failure.retryAfterMs);
        const waitMs = Math.max(pause, budget.reserve());
        if (waitMs >= remainingMs(deadline, clock)) throw outOfTime(failure, deadline);
        seen.last = failure;
        progress?.pausing({ for: "next try", after: failure, at: clock.now() + waitMs });
        await clock.sleep(waitMs, limit.signal);
      }
    } catch (error) {
      throw limit.signal.aborted ? interruption(seen, deadline, outer) : stillUnsure(error, seen);
    } finally {
      progress?.pausing(undefined);
      limit.release();
    }
  };

  /** limits → auth → send: one try, however it ends. */
  async function attempt(
    request: ApiRequest,
    url: URL,
    seen: Failed,
    { signal, progress }: { signal: AbortSignal; progress: PauseSeen | undefined },
  ): Promise<{ outcome: Outcome; token: string }> {
    // A try after one that failed is told of by that.
    const isFirst = seen.last === undefined;
    if (isFirst) progress?.pausing({ for: "turn", isSlowed: () => limits.isSlowed });
    const leave = await limits.enter(signal);
    if (isFirst) progress?.pausing(undefined);
    try {
      // Not before: the turn may come when a token that was good has ended.
      const token = await auth.token(signal);
      return { outcome: await sendOnce(request, url, token, seen, signal), token };
    } finally {
      leave();
    }
  }

  async function sendOnce(
    request: ApiRequest,
    url: URL,
    token: string,
    seen: Failed,
    signal: AbortSignal,
  ): Promise<Outcome> {
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
      limits.answered(status, retryAfterMs(reply.header("retry-after"), reply.header("date")));
      return { kind: "reply", reply };
    } catch (error) {
      if (signal.aborted) {
        // Whoever ends a call in the middle of a try can't know whether it arrived.
        seen.unsure = true;
        throw signal.reason;
      }
      if (limit.signal.aborted) return { kind: "silence" };
      const failure = transportFailure(error);
      if (failure === undefined) throw error;
      return { kind: "failure", failure, error };
    } finally {
      limit.release();
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
