import { CloudInfraError } from "../diagnostics/error";
import { type PauseListener, pauseMs } from "../polling/backoff";
import { type Clock, type Deadline, limitOf, remainingMs, within } from "../polling/clock";
import type { Auth } from "./auth";
import type { Connections } from "./connections";
import type { Endpoint } from "./endpoint";
import {
  attemptError,
  deadlineReached,
  interruptedRequest,
  type RequestHistory,
  withUnknownOutcome,
} from "./errors";

import { classifyAttempt, type TraceIds } from "./outcome";
import type { RateLimiter } from "./rate-limiter";
import { mayRetry, type RetryBudget, type RetryOptions, retryAfterMs } from "./retry";
import { type Attempt, exchange, type WireReply, type WireRequest } from "./transport";

/** How long a call may take, and who may end it earlier. */
export interface CallOptions {
  /** For the call as a whole, retries and pauses included. */
  deadline: Deadline;
  /** Ends it at once. */
  signal?: AbortSignal | undefined;
  /** Told while the call waits for something else than the service's answer. */
  progress?: PauseListener | undefined;
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
  readonly limits: RateLimiter;
  readonly budget: RetryBudget;
  readonly retry: RetryOptions;
  readonly clock: Clock;
  readonly random: () => number;
  readonly dispatcher: Connections;
  readonly traces: TraceIds;
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
    const seen: RequestHistory = {
      ...{ method: request.method, protocol: url.protocol, path: url.pathname },
      ...{ attempts: 0, unknown: [] },
    };
    const identity = request.idempotencyKey ?? Symbol(request.method);
    let renewed = false;
    try {
      for (;;) {
        const { attempt, token } = await inTurn(request, url, seen, { signal: limit.signal, progress });
        const outcome = classifyAttempt(request, attempt);
        if (outcome === "done" && attempt.kind === "reply") return replyOf(attempt.reply, url, seen);
        const storedAs = storedFailureOf(attempt, identity);
        if (outcome === "unknown") seen.unknown.push(storedAs);

        if (attempt.kind === "reply" && attempt.reply.status === 401 && !renewed) {
          renewed = true;
          if ((await auth.renewed(token, limit.signal)) !== undefined) continue;
        }

        const failure = attemptError(request, attempt, seen, auth);
        if (!mayRetry(request, attempt, seen.attempts, retry) || failure.replayed) throw failure;
        const pause = pauseMs(retry.backoff, seen.attempts, random, failure.retryAfterMs);
        const waitMs = Math.max(pause, budget.reserve());
        if (waitMs >= remainingMs(deadline, clock)) throw deadlineReached(failure, deadline);
        seen.last = failure;
        progress?.pausing({ for: "next try", after: failure, at: clock.now() + waitMs });
        await clock.sleep(waitMs, limit.signal);
      }
    } catch (error) {
      throw limit.signal.aborted
        ? interruptedRequest(seen, deadline, outer)
        : withUnknownOutcome(error, seen);
    } finally {
      progress?.pausing(undefined);
      limit.release();
    }
  };

  /** limits → auth → send: one attempt, however it ends. */
  async function inTurn(
    request: ApiRequest,
    url: URL,
    seen: RequestHistory,
    { signal, progress }: { signal: AbortSignal; progress: PauseListener | undefined },
  ): Promise<{ attempt: Attempt; token: string }> {
    // A try after one that failed is told of by that.
    const isFirst = seen.last === undefined;
    if (isFirst) progress?.pausing({ for: "turn", isSlowed: () => limits.isSlowed });
    const leave = await limits.enter(signal);
    if (isFirst) progress?.pausing(undefined);
    try {
      // Not before: the turn may come when a token that was good has ended.
      const token = await auth.token(signal);
      return { attempt: await sendOnce(request, url, token, seen, signal), token };
    } finally {
      leave();
    }
  }

  async function sendOnce(
    request: ApiRequest,
    url: URL,
    token: string,
    seen: RequestHistory,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const { method, body } = request;
    const wire = { method, url, headers: headersOf(request, token, parts.userAgent), body };
    const limit = limitOf(retry.attemptMs, clock, signal);
    const startedMs = clock.now();
    seen.attempts++;
    let neverSent = true;
    let status: number | undefined;
    const onStart = (): void => {
      neverSent = false;
    };
    try {
      const options = { clean: auth.redact, signal: limit.signal, onStart };
      const attempt = await within(limit.signal, exchange(parts.dispatcher, wire, options));
      if (attempt.kind === "reply") {
        const { header } = attempt.reply;
        status = attempt.reply.status;
        limits.recordReply(status, retryAfterMs(header("retry-after"), header("date")));
      }
      return attempt;
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      if (!signal.aborted) return { kind: "silence", neverSent };
      // Ended by the caller or the deadline: the request may have arrived nevertheless.
      if (!neverSent) seen.unknown.push(undefined);
      throw signal.reason;
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

  /** Status and body of a failure, if the service may have stored it for the key and replays it (§4.7). */
  function storedFailureOf(attempt: Attempt, identity: string | symbol): string | undefined {
    if (attempt.kind !== "reply") return undefined;
    const { status, problem, body } = attempt.reply;
    const isIdentified = parts.traces.identifies(problem?.traceId, identity);
    if (!isIdentified || status < 500 || typeof identity !== "string") return undefined;
    return JSON.stringify([status, body]);
  }

  function report(attempt: Parameters<RequestParts["onAttempt"]>[0]): void {
    try {
      parts.onAttempt(attempt);
    } catch {
      // By contract: whoever only watches can't fail a request.
    }
  }
}

function replyOf(reply: WireReply, url: URL, { method, path, attempts }: RequestHistory): ApiReply {
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

/** The request's whole URL. */
export function urlOf({ path, query = {} }: ApiRequest, endpoint: Endpoint): URL {
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

/** The request's headers, the token among them. */
function headersOf(
  { body, idempotencyKey, ifMatch }: ApiRequest,
  token: string,
  userAgent: string,
): Record<string, string> {
  return {
    accept: "application/json, application/problem+json",
    "accept-encoding": "identity",
    authorization: `Bearer ${token}`,
    "user-agent": userAgent,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatchOf(ifMatch) }),
  };
}

/** The tag as If-Match carries it: strong and quoted (§4.5). */
export function ifMatchOf(revision: string): string {
  if (!/^[\x21\x23-\x7e\u0080-\u00ff]+$/.test(revision)) {
    throw new CloudInfraError("bad_reply", "the revision has characters that can't stand in If-Match", {
      hint: "name the field that holds the revision with the setting `cloudinfra:revisionField`",
    });
  }
  return `"${revision}"`;
}
