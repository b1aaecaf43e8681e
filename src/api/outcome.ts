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
import { type Attempt, proxyLoginHint, type WireReply } from "./transport";

export interface ExpectedReply {
  /** Whether a success must have a body. @default false */
  readonly needsBody?: boolean | undefined;
}

/** Whether the service processed or definitely rejected a request, or `unknown` if this is uncertain. */
export type Outcome = "done" | "rejected" | "unknown";

/**
 * The statuses that a service returns only before it processes a request. After any other status, such as a 5xx, 408 or a redirect, the
 * service may have processed the request. Frameworks may return 406 after processing.
 */
const REJECTIONS: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 423, 428, 429, 431, 451,
]);

/** Classifies a single attempt. A status such as 401, 404 or 422 proves nothing about an earlier attempt that received no reply. */
export function classifyAttempt(request: ExpectedReply, attempt: Attempt): Outcome {
  if (attempt.kind === "failure") return attempt.failure.neverSent ? "rejected" : "unknown";
  if (attempt.kind === "timeout") return attempt.neverSent ? "rejected" : "unknown";
  const { reply } = attempt;
  if (isSuccessStatus(reply)) return isUsable(request, reply) ? "done" : "unknown";
  return REJECTIONS.has(reply.status) && keyConflict(reply) === undefined ? "rejected" : "unknown";
}

export function isSuccessStatus({ status }: WireReply): boolean {
  return status >= 200 && status < 300;
}

/** Reports whether a status may be temporary: 408, 425, 429, or any 5xx except 501. Gateways also use nonstandard 5xx codes. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** Reports whether a successful reply has a readable body, if the request requires a body. */
export function isUsable({ needsBody }: ExpectedReply, { status, body, header }: WireReply): boolean {
  if (body.kind === "empty") return !needsBody || status === 204 || header("location") !== undefined;
  return body.kind === "json";
}

/**
 * Returns the conflict about the idempotency key that a reply contains (§4.7). The first request with the key may still be running, or the
 * key may belong to a different request. Only machine-readable members are evaluated, because prose may contain any word.
 */
export function keyConflict({ status, problem }: WireReply): "in progress" | "reused" | undefined {
  const kind = `${problem?.code ?? ""} ${problem?.type ?? ""}`;
  if (status < 400 || status >= 500 || !/idempoten/i.test(kind)) return undefined;
  if (/invalid|malformed|missing|required/i.test(kind)) return undefined;
  return status === 409 && !/reus|mismatch|differ/i.test(kind) ? "in progress" : "reused";
}

/**
 * Reports whether a reply rejects the token. The specification doesn't define this reply (§5). A 403 rejects the token only if a
 * machine-readable member says so, as in `token_expired`. Otherwise, the token is valid but lacks a permission.
 */
export function isTokenRejected({ status, problem }: WireReply): boolean {
  const kinds = [problem?.code ?? "", problem?.type ?? ""];
  return status === 401 || (status === 403 && kinds.some((kind) => TOKEN_REJECTIONS.test(kind)));
}

const TOKEN_REJECTIONS = /(expired|invalid|revoked)[\w-]*token|token[\w-]*(expired|invalid|revoked)/i;

/** The maximum number of trace ids to keep, which is sufficient for an outage in which many requests fail concurrently. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");
/** The statuses of gateways that have received no reply from the service. Such a failure is never stored. */
const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 504]);

/**
 * Creates a function that identifies failures that the service may have stored for an idempotency key (§4.7). A trace id proves something
 * only if it belongs to a single request, because some services return the same id in every reply.
 *
 * @returns a function that records the reply to a request, and returns the status and the body of a failure with a trace id of its own. A
 * request is identified by its idempotency key or a unique symbol
 */
export function createFailureTracker(): (attempt: Attempt, request: string | symbol) => string | undefined {
  const requests = new Map<string, string | symbol>();
  return (attempt, request) => {
    if (attempt.kind !== "reply") return undefined;
    const { status, problem, body } = attempt.reply;
    const { traceId = "" } = problem ?? {};
    if (!/[1-9]/.test(traceId)) return undefined; // a placeholder such as "", "none" or "0000-0000"
    const owner = (requests.get(traceId) ?? request) === request ? request : SHARED;
    requests.delete(traceId);
    requests.set(traceId, owner);
    const [oldest = ""] = requests.keys();
    if (requests.size > MAX_REMEMBERED_IDS) requests.delete(oldest);
    const isOfService = status >= 500 && !GATEWAY_STATUSES.has(status);
    if (owner === SHARED || !isOfService || typeof request !== "string") return undefined;
    const normalized = (id: string): string => id.replaceAll("-", "").toLowerCase();
    const isDerivedFromKey = normalized(traceId).includes(normalized(request));
    return isDerivedFromKey ? undefined : JSON.stringify([status, body]);
  };
}

/**
 * Reports whether the service replays a failure that it has stored for the idempotency key (§4.7). Only a new key can then change the
 * result. All attempts must have received the same reply, because equal trace ids alone prove nothing.
 */
function isStoredFailure(failures: readonly (string | undefined)[]): boolean {
  const [first] = failures;
  return first !== undefined && failures.length > 1 && failures.every((reply) => reply === first);
}

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
  if (isSuccessStatus(reply)) return unusableReply(reply, details);
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
  423: "conflict",
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
