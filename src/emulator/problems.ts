import type { Behaviour } from "./behaviour";
import type { Reply } from "./reply";

/** An error in a field or a query parameter of a request. */
export interface ProblemDetail {
  /** The description of the error. */
  readonly detail: string;
  /** JSON pointer to the field in the body. */
  readonly pointer?: string;
  /** The name of the query parameter. */
  readonly parameter?: string;
  /** The code of the error. */
  readonly code?: string;
}

/** A problem document (RFC 9457). */
export interface ProblemDocument {
  /** The URI of the kind of problem, such as `urn:cloudinfra:problem:validation_failed`. */
  type: string;
  /** The short description of the kind of problem. */
  title: string;
  /** The status of the reply. */
  status: number;
  /** The description of this problem. */
  detail: string;
  /** The path of the request. */
  instance: string;
  /** The code of the kind of problem, such as `validation_failed`. */
  code: string;
  /** The trace id, with which the service's operators can find the request. The switch `traceIds` sets its format. */
  trace_id?: string;
  /** The errors in individual fields or parameters. @default none */
  errors?: readonly ProblemDetail[];
}

/** A rejection of a request. The problem document also contains a trace id and the path of the request. */
export interface Refusal {
  /** The status of the reply. */
  readonly status: number;
  /** The code of the kind of problem. */
  readonly code: string;
  /** The description of the problem. */
  readonly detail: string;
  /** The errors in individual fields or parameters. @default none */
  readonly errors?: readonly ProblemDetail[] | undefined;
  /** The headers to add to the reply. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  408: "Request timeout",
  409: "Conflict",
  410: "Gone",
  412: "Precondition failed",
  413: "Body too large",
  415: "Unsupported media type",
  422: "Validation failed",
  428: "Precondition required",
  429: "Too many requests",
  500: "Internal error",
  502: "Bad gateway",
  503: "Service unavailable",
  504: "Gateway timeout",
};

/** The part of the state that determines problem documents. */
interface Source {
  readonly behaviour: Behaviour;
  newTraceId(): string | undefined;
}

export function problemOf(source: Source, refusal: Refusal, path: string): ProblemDocument {
  const traceId = source.newTraceId();
  return {
    type: `urn:cloudinfra:problem:${refusal.code}`,
    title: titles[refusal.status] ?? "Error",
    status: refusal.status,
    detail: (refusal.status === 409 ? source.behaviour.conflictDetail : undefined) ?? refusal.detail,
    instance: path,
    code: refusal.code,
    ...(traceId === undefined ? {} : { trace_id: traceId }),
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
  };
}

/** Returns a problem document in the format in which it is sent. */
export function problemOnWire({ problemDetail, numbersAsText }: Behaviour, problem: ProblemDocument): object {
  const { detail, status } = problem;
  const details = {
    text: detail,
    list: [detail],
    missing: undefined,
    long: `${detail}${" ".repeat(80_000)}.`,
  };
  return {
    ...problem,
    detail: details[problemDetail],
    status: numbersAsText ? String(status) : status,
  };
}

/** Returns the reply to a rejected request. `members` override members of the problem document. */
export function problemReply(source: Source, refusal: Refusal, path: string, members: object = {}): Reply {
  const problem = problemOnWire(source.behaviour, problemOf(source, refusal, path));
  return {
    status: refusal.status,
    headers: { "content-type": "application/problem+json", ...refusal.headers },
    body: JSON.stringify({ ...problem, ...members }),
  };
}

/** Creates a rejection of body fields with status 422. */
export function invalid(errors: readonly ProblemDetail[]): Refusal {
  const detail = errors.length === 1 ? (errors[0]?.detail ?? "") : `${errors.length} fields are invalid`;
  return { status: 422, code: "validation_failed", detail, errors };
}

/** Creates a rejection of a query parameter with status 400. */
export function badParameter(parameter: string, code: string, detail: string): Refusal {
  return { status: 400, code, detail, errors: [{ parameter, detail }] };
}

export function notFound(what: string, code = "not_found"): Refusal {
  return { status: 404, code, detail: `${what} does not exist` };
}

/** Creates a rejection with status 409, because of the state of an object or a running operation. */
export function conflict(code: string, detail: string): Refusal {
  return { status: 409, code, detail };
}

export function methodNotAllowed(allow: string): Refusal {
  return {
    status: 405,
    code: "method_not_allowed",
    detail: `the allowed methods are ${allow}`,
    headers: { allow },
  };
}
