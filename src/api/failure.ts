import { STATUS_CODES } from "node:http";
import { CloudInfraError, type ErrorCode, type ErrorDetails } from "../diagnostics/error";
import { type Problem, parseProblem } from "../diagnostics/problem";
import type { Auth } from "./auth";
import type { Outcome } from "./retry";
import { retryAfterMs } from "./retry-after";
import type { WireReply } from "./transport";

/** What is known of a request while it is tried. */
export interface Failed {
  readonly method: string;
  readonly path: string;
  attempts: number;
  /** Some attempt may have been carried out. */
  unsure: boolean;
  /** How the last attempt failed. */
  last?: CloudInfraError | undefined;
}

interface Asked {
  readonly collection?: boolean | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** The error that an attempt would end the request with. */
export function failureOf(request: Asked, outcome: Outcome, seen: Failed, auth: Auth): CloudInfraError {
  const details: ErrorDetails = {
    method: seen.method,
    path: seen.path,
    attempts: seen.attempts,
    sent: seen.unsure,
  };
  if (outcome.kind === "silence") {
    return new CloudInfraError("unreachable", "the service did not answer in time", details);
  }
  if (outcome.kind === "failure") {
    const words = auth.redact(outcome.failure.words);
    return new CloudInfraError("unreachable", `the service can't be reached: ${words}`, {
      ...details,
      hint: outcome.failure.hint,
      cause: outcome.error,
    });
  }
  return refusalOf(request, outcome.reply, details, seen, auth);
}

function refusalOf(
  request: Asked,
  reply: WireReply,
  known: ErrorDetails,
  seen: Failed,
  auth: Auth,
): CloudInfraError {
  const { status, body } = reply;
  const problem = body.kind === "json" ? parseProblem(body.value) : undefined;
  const details = {
    ...known,
    status,
    problem,
    retryAfterMs: retryAfterMs(reply.header("retry-after"), reply.header("date")),
  };
  if (status < 300) return unreadable(reply, details);
  if (status < 400) {
    const target = auth.redact(pointedTo(reply.header("location")));
    return new CloudInfraError(
      "not_this_service",
      `it answered with a redirect (${status}) to ${target}`,
      details,
    );
  }
  if (status === 401) {
    return new CloudInfraError(
      "unauthorized",
      `the service does not accept the token from ${auth.origin} (401)`,
      details,
    );
  }
  if (status === 404 && request.collection && problem === undefined) {
    const message = `there is no such API at this address (404${said(reply)})`;
    return new CloudInfraError("not_this_service", message, details);
  }
  const replayed = request.idempotencyKey !== undefined && status >= 500 && isSameTrace(problem, seen.last);
  return new CloudInfraError(codeOf(status), words(status, problem, reply), { ...details, replayed });
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

function words(status: number, problem: Problem | undefined, reply: WireReply): string {
  const name = problem?.code ?? problem?.title ?? STATUS_CODES[status] ?? "unknown status";
  const detail = problem?.detail ?? problem?.errors[0]?.detail;
  return `the service answered ${name} (${status})${detail === undefined ? said(reply) : `: ${detail}`}`;
}

function unreadable({ body, status }: WireReply, details: ErrorDetails): CloudInfraError {
  if (body.kind === "too large")
    return new CloudInfraError("bad_reply", "the reply is too large", { ...details, sent: true });
  if (body.kind !== "unreadable") {
    return new CloudInfraError(
      "bad_reply",
      `the reply is empty where something was to be said (${status})`,
      details,
    );
  }
  if (body.what === "broken JSON") {
    return new CloudInfraError(
      "bad_reply",
      `the reply is no complete JSON (${status}): ${body.excerpt}`,
      details,
    );
  }
  const what = body.what === "html" ? "a web page" : "something that is no JSON";
  return new CloudInfraError(
    "not_this_service",
    `it answered with ${what} (${status}): ${body.excerpt}`,
    details,
  );
}

/** What a reply without a problem document has to say for itself. */
function said({ body }: WireReply): string {
  return body.kind === "unreadable" && body.excerpt !== "" ? `: ${body.excerpt}` : "";
}

function pointedTo(location: string | undefined): string {
  if (location === undefined) return "nowhere";
  if (!URL.canParse(location)) return location.split("?", 1)[0] ?? "nowhere";
  const { origin, pathname } = new URL(location);
  return origin + pathname;
}

function isSameTrace(problem: Problem | undefined, last: CloudInfraError | undefined): boolean {
  return problem?.traceId !== undefined && problem.traceId === last?.traceId && (last.status ?? 0) >= 500;
}
