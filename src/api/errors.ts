import { STATUS_CODES } from "node:http";
import { formatDuration } from "../diagnostics/durations";
import {
  CloudInfraError,
  type ErrorCode,
  type ErrorDetails,
  isCloudInfraError,
  withDetails,
} from "../diagnostics/error";
import type { Problem } from "../diagnostics/problem";
import type { Deadline } from "../polling/clock";
import type { Auth } from "./auth";
import { excerpt } from "./body";
import { isSuccess } from "./outcome";
import { retryAfterMs } from "./retry";
import { type Attempt, proxyLoginHint, type WireReply } from "./transport";

/** What is known of a request from its attempts so far. */
export interface RequestHistory {
  readonly method: string;
  /** Of the URL, with a colon. */
  readonly protocol: string;
  readonly path: string;
  attempts: number;
  /**
   * One element for each attempt whose outcome is unknown: the text of its reply, if that is a failure that the service may have stored
   * for the key, else `undefined`.
   */
  readonly unknown: (string | undefined)[];
  /** How the last attempt failed. */
  last?: CloudInfraError | undefined;
}

interface RequestTarget {
  readonly collection?: boolean | undefined;
}

/** The error that an attempt would end the request with. */
export function attemptError(
  request: RequestTarget,
  attempt: Attempt,
  seen: RequestHistory,
  auth: Auth,
): CloudInfraError {
  const { method, path, attempts } = seen;
  const details: ErrorDetails = { method, path, attempts, sent: mayBeCarriedOut(seen) };
  if (attempt.kind === "silence") {
    return new CloudInfraError("unreachable", "the service did not answer in time", details);
  }
  if (attempt.kind === "failure") {
    const { words, neverSent, hint, cause } = attempt.failure;
    const what = neverSent ? "the service can't be reached" : "the reply was lost";
    return new CloudInfraError("unreachable", `${what}: ${words}`, { ...details, hint, cause });
  }
  if (attempt.reply.status === 407) {
    const message = "the service can't be reached: the proxy answered 407";
    return new CloudInfraError("unreachable", message, {
      ...details,
      status: 407,
      hint: proxyLoginHint(seen),
    });
  }
  return replyFailure(request, attempt.reply, { ...details, replayed: isStoredFailure(seen) }, auth);
}

/** Whether any attempt may have been carried out. */
function mayBeCarriedOut({ unknown }: RequestHistory): boolean {
  return unknown.length > 0;
}

/**
 * Whether the service replays a failure that it has stored for the key (§4.7): then only another key can change the result. If any
 * attempt ended in another way, its response may be another one, and the request may have been carried out. Equal trace ids alone prove
 * nothing, because a service may derive them from the key or the connection.
 */
function isStoredFailure({ unknown }: RequestHistory): boolean {
  const [first] = unknown;
  return first !== undefined && unknown.length > 1 && unknown.every((reply) => reply === first);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function replyFailure(
  request: RequestTarget,
  reply: WireReply,
  known: ErrorDetails,
  auth: Auth,
): CloudInfraError {
  const { status, problem } = reply;
  const details = {
    ...known,
    status,
    problem,
    retryAfterMs: retryAfterMs(reply.header("retry-after"), reply.header("date")),
  };
  if (isSuccess(reply)) return unusableReply(reply, details);
  if (REDIRECTS.has(status)) {
    const target = auth.redact(redirectTarget(reply.header("location")));
    return new CloudInfraError(
      "not_this_service",
      `it answered with a redirect (${status}) to ${target}`,
      details,
    );
  }
  if (status < 400) {
    const message = `the service answered ${STATUS_CODES[status] ?? "unknown status"} (${status}), which this request never asks for`;
    return new CloudInfraError("bad_reply", message, details);
  }
  if (status === 401) {
    return new CloudInfraError(
      "unauthorized",
      `the service does not accept the token from ${auth.origin} (401)`,
      details,
    );
  }
  if (status === 404 && request.collection && problem === undefined) {
    const message = `there is no such API at this address (404${prefixed(": ", replyExcerpt(reply))})`;
    return new CloudInfraError("not_this_service", message, details);
  }
  const text = problem === undefined ? replyExcerpt(reply) : "";
  return new CloudInfraError(codeOf(status), statusMessage(status, problem, text), {
    ...details,
    lines: text === "" ? undefined : [text],
  });
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  403: "forbidden",
  404: "not_found",
  405: "unsupported",
  408: "unavailable",
  409: "conflict",
  410: "not_found",
  412: "revision_conflict",
  425: "unavailable",
  429: "rate_limited",
  501: "unsupported",
};

function codeOf(status: number): ErrorCode {
  return BY_STATUS[status] ?? (status >= 500 ? "unavailable" : "refused");
}

function statusMessage(status: number, problem: Problem | undefined, text: string): string {
  const name = problem?.code ?? problem?.title ?? STATUS_CODES[status] ?? "unknown status";
  const detail = problem?.detail ?? problem?.errors[0]?.detail ?? text;
  return `the service answered ${name} (${status})${prefixed(": ", detail)}`;
}

function prefixed(separator: string, text: string): string {
  return text === "" ? "" : separator + text;
}

/** Nothing that a success carries is shown: it may be an object with its initial password. */
function unusableReply({ body, status, header }: WireReply, details: ErrorDetails): CloudInfraError {
  const bad = (message: string) => new CloudInfraError("bad_reply", message, details);
  switch (body.kind) {
    case "too large":
      return bad("the reply is too large");
    case "undecodable":
      return bad(`the reply is damaged, or its content coding "${body.coding}" is not supported (${status})`);
    case "unreadable": {
      const [type = "no content type"] = /^[\w.+-]+\/[\w.+-]+/.exec(header("content-type") ?? "") ?? [];
      const form = `${status}, ${type}, ${body.length} characters`;
      if (body.what === "broken JSON") return bad(`the reply is no complete JSON (${form})`);
      const what = body.what === "html" ? "a web page" : "something that is no JSON";
      return new CloudInfraError("not_this_service", `it answered with ${what} (${form})`, details);
    }
    default:
      return bad(`the reply is empty where something was to be said (${status})`);
  }
}

const EMPTY: ReadonlySet<string> = new Set(["", "{}", "[]", "null", '""']);

/** The start of a reply that is neither a problem document nor, as its id shows, an object. */
function replyExcerpt({ body }: WireReply): string {
  if (body.kind === "unreadable") return body.excerpt;
  if (body.kind !== "json" || isObject(body.value)) return "";
  const json = JSON.stringify(body.value);
  return EMPTY.has(json) ? "" : excerpt(json);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value;
}

function redirectTarget(location: string | undefined): string {
  if (location === undefined) return "nowhere";
  if (!URL.canParse(location)) return location.split("?", 1)[0] ?? "nowhere";
  const { origin, pathname } = new URL(location);
  return origin + pathname;
}

/** A request that was ended from outside: by its deadline, or by whoever made it. */
export function interruptedRequest(
  seen: RequestHistory,
  deadline: Deadline,
  outer: AbortSignal | undefined,
): CloudInfraError {
  const { method, path, attempts, last } = seen;
  const details = {
    method,
    path,
    attempts,
    sent: mayBeCarriedOut(seen),
    status: last?.status,
    problem: last?.problem,
    traceId: last?.traceId,
  };
  if (outer?.aborted)
    return new CloudInfraError("aborted", "it was interrupted", { ...details, cause: outer.reason });
  const message = last
    ? `no success within ${formatDuration(deadline.ms)}: ${last.summary}`
    : `the service gave no answer within ${formatDuration(deadline.ms)}`;
  return new CloudInfraError("timeout", message, { ...details, cause: last });
}

/** No further try can start before the deadline. */
export function deadlineReached(failure: CloudInfraError, deadline: Deadline): CloudInfraError {
  const asked = failure.retryAfterMs;
  const wish = asked === undefined ? "" : `; the service asks to come back in ${formatDuration(asked)}`;
  const message = `no success within ${formatDuration(deadline.ms)}: ${failure.summary}${wish}`;
  const { method, path, attempts, sent, status, problem, traceId } = failure;
  return new CloudInfraError("timeout", message, {
    method,
    path,
    attempts,
    sent,
    status,
    problem,
    traceId,
    retryAfterMs: asked,
    cause: failure,
  });
}

/** The error that ends a request between two attempts, such as a missing token, doesn't settle what an earlier attempt may have done. */
export function withUnknownOutcome(error: unknown, seen: RequestHistory): unknown {
  if (!isCloudInfraError(error) || error.sent || !mayBeCarriedOut(seen)) return error;
  const { method, path, attempts } = seen;
  return withDetails(error, { method, path, attempts, sent: true });
}
