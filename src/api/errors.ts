import { STATUS_CODES } from "node:http";
import {
  CloudInfraError,
  type ErrorCode,
  type ErrorDetails,
  isCloudInfraError,
  withDetails,
} from "../diagnostics/error";
import type { Problem } from "../diagnostics/problem";
import { type Deadline, formatDuration } from "../polling/clock";
import type { Auth } from "./auth";
import { excerpt, MAX_BODY_BYTES } from "./body";
import { isStoredFailure, isSuccess, isTokenRejected } from "./outcome";
import { type Attempt, proxyLoginHint, type WireReply } from "./transport";

/** A request and its previous attempts. */
export interface RequestHistory {
  readonly method: string;
  readonly url: URL;
  readonly collection: boolean | undefined;
  attempts: number;
  /** The attempts with an unknown outcome. Each item is a failure that the service may have stored for the key, or `undefined`. */
  readonly unknown: (string | undefined)[];
  last?: CloudInfraError | undefined;
}

/** Returns the details of the request and of the previous failure. */
function lastDetails(history: RequestHistory): ErrorDetails {
  const { status, problem, traceId, retryAfterMs } = history.last ?? {};
  return { ...detailsFrom(history), status, problem, traceId, retryAfterMs, cause: history.last };
}

function detailsFrom({ method, url, attempts, unknown }: RequestHistory): ErrorDetails {
  return { method, path: url.pathname, attempts, sent: unknown.length > 0 };
}

export function attemptError(attempt: Attempt, history: RequestHistory, auth: Auth): CloudInfraError {
  const details = detailsFrom(history);
  if (attempt.kind === "timeout")
    return new CloudInfraError("unreachable", "the service sent no reply in time", details);
  if (attempt.kind === "failure") {
    const { description, neverSent, hint, cause } = attempt.failure;
    const what = neverSent ? "the service can't be reached" : "the reply was lost";
    return new CloudInfraError("unreachable", `${what}: ${description}`, { ...details, hint, cause });
  }
  if (attempt.reply.status === 407) {
    const message = "the service can't be reached: the proxy returned 407";
    const hint = proxyLoginHint(history.url);
    return new CloudInfraError("unreachable", message, { ...details, status: 407, hint });
  }
  return replyError(attempt.reply, { ...details, replayed: isStoredFailure(history.unknown) }, history, auth);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function replyError(
  reply: WireReply,
  known: ErrorDetails,
  { collection }: RequestHistory,
  auth: Auth,
): CloudInfraError {
  const { status, problem, retryAfterMs } = reply;
  const details = { ...known, status, problem, retryAfterMs };
  const failure = (code: ErrorCode, message: string) => new CloudInfraError(code, message, details);
  if (isSuccess(reply)) return unusableReply(reply, details);
  if (REDIRECTS.has(status)) {
    const target = auth.redact(redirectTarget(reply.header("location")));
    return failure("not_this_service", `the endpoint returned a redirect (${status}) to ${target}`);
  }
  if (status < 400) {
    const name = STATUS_CODES[status] ?? "unknown";
    return failure("bad_reply", `the service returned an unexpected status: ${name} (${status})`);
  }
  if (isTokenRejected(reply))
    return failure("unauthorized", `the service rejected the token from ${auth.origin} (${status})`);
  const text = problem === undefined ? replyExcerpt(reply) : "";
  if (status === 404 && collection && problem === undefined)
    return failure("not_this_service", `the API was not found at the endpoint (404${afterColon(text)})`);
  const lines = text === "" ? undefined : [text];
  const code = BY_STATUS[status] ?? (status >= 500 ? "unavailable" : "refused");
  return new CloudInfraError(code, statusMessage(status, problem, text), { ...details, lines });
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

function statusMessage(status: number, problem: Problem | undefined, text: string): string {
  const name = problem?.code ?? problem?.title ?? STATUS_CODES[status] ?? "unknown status";
  const detail = problem?.detail ?? problem?.errors[0]?.detail ?? text;
  return `the service returned ${name} (${status})${afterColon(detail)}`;
}

function afterColon(text: string): string {
  return text === "" ? "" : `: ${text}`;
}

/** Creates the error for a success whose body can't be used. The error doesn't quote the body, which may contain an initial password. */
function unusableReply({ body, status, header }: WireReply, details: ErrorDetails): CloudInfraError {
  const bad = (message: string) => new CloudInfraError("bad_reply", message, details);
  switch (body.kind) {
    case "too large":
      return bad(`the reply is larger than ${MAX_BODY_BYTES / 2 ** 20} MiB`);
    case "undecodable":
      return bad(`the reply can't be decoded (${status}, content encoding "${body.coding}")`);
    case "unreadable": {
      const [type = "no content type"] = /^[\w.+-]+\/[\w.+-]+/.exec(header("content-type") ?? "") ?? [];
      const form = `${status}, ${type}, ${body.length} characters`;
      if (body.what === "broken JSON") return bad(`the reply isn't complete JSON (${form})`);
      const what = body.what === "html" ? "a web page" : "something other than JSON";
      return new CloudInfraError("not_this_service", `the endpoint returned ${what} (${form})`, details);
    }
    default:
      return bad(`the reply has no body (${status})`);
  }
}

/** Returns the start of a reply for messages. A reply with an id is an object that may contain secrets, so the result is then empty. */
function replyExcerpt({ body }: WireReply): string {
  if (body.kind === "unreadable") return body.excerpt;
  if (body.kind !== "json") return "";
  if (typeof body.value === "object" && body.value !== null && "id" in body.value) return "";
  const json = JSON.stringify(body.value);
  return /^(\{\}|\[\]|null|"")$/.test(json) ? "" : excerpt(json);
}

function redirectTarget(location: string | undefined): string {
  if (location === undefined) return "an unknown address";
  const url = URL.parse(location);
  return url === null ? (location.split("?", 1)[0] ?? "") : url.origin + url.pathname;
}

/** Creates the error for a request that timed out or was cancelled by its caller. */
export function interruptedRequest(
  history: RequestHistory,
  deadline: Deadline,
  outer: AbortSignal | undefined,
): CloudInfraError {
  const details = lastDetails(history);
  if (outer?.aborted)
    return new CloudInfraError("aborted", "the request was interrupted", { ...details, cause: outer.reason });
  const why = history.last ? `: ${history.last.summary}` : " without a reply from the service";
  return new CloudInfraError("timeout", `timed out after ${formatDuration(deadline.ms)}${why}`, details);
}

/** Creates the error for a request whose next attempt would start after the deadline. */
export function deadlineReached(history: RequestHistory, deadline: Deadline): CloudInfraError {
  const details = lastDetails(history);
  const limit = formatDuration(deadline.ms);
  const reason =
    details.retryAfterMs === undefined
      ? `no time for another attempt within ${limit}`
      : `the service requested a wait of ${formatDuration(details.retryAfterMs)}, which exceeds the time limit of ${limit}`;
  return new CloudInfraError("timeout", reason, details);
}

/** Marks an error between two attempts, such as a missing token, if the outcome of an earlier attempt is unknown. */
export function withUnknownOutcome(error: unknown, history: RequestHistory): unknown {
  if (!isCloudInfraError(error) || error.sent || history.unknown.length === 0) return error;
  return withDetails(error, detailsFrom(history));
}
