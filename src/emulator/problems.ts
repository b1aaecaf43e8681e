import type { Behaviour } from "./behaviour";
import type { Reply } from "./reply";

/** One thing that is wrong with a request: `pointer` into its body, or `parameter` of its query. */
export interface ProblemDetail {
  /** What is wrong, in words. */
  readonly detail: string;
  /** JSON pointer into the body of the request. */
  readonly pointer?: string;
  /** Name in the query of the request. */
  readonly parameter?: string;
  /** What is wrong, for programs. */
  readonly code?: string;
}

/** A problem document (§2.4). */
export interface Problem {
  /** URI of the kind of problem. */
  type: string;
  /** The kind of problem, in words. */
  title: string;
  /** Status of the reply. */
  status: number;
  /** What is wrong, in words. */
  detail: string;
  /** Path of the request. */
  instance: string;
  /** The kind of problem, for programs: `validation_failed`. */
  code: string;
  /** For the operators of the service. @default missing, if `traceIds` says so */
  trace_id?: string;
  /** What is wrong with single fields or parameters. @default none */
  errors?: readonly ProblemDetail[];
}

/** A rejection, before it has a trace id and a path. */
export interface Refusal {
  /** Status of the reply. */
  readonly status: number;
  /** The kind of problem, for programs. */
  readonly code: string;
  /** What is wrong, in words. */
  readonly detail: string;
  /** What is wrong with single fields or parameters. @default none */
  readonly errors?: readonly ProblemDetail[] | undefined;
  /** Further headers of the reply. @default none */
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

/** Where problem documents get what differs from one to the next. */
interface Source {
  readonly behaviour: Behaviour;
  newTraceId(): string | undefined;
}

export function problemOf(source: Source, refusal: Refusal, path: string): Problem {
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

/** A problem document as JSON shows it. */
export function problemOnWire({ problemDetail, numbersAsText }: Behaviour, problem: Problem): object {
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

/** The reply with the problem document of a rejection. `members` of it may differ. */
export function problemReply(source: Source, refusal: Refusal, path: string, members: object = {}): Reply {
  const problem = problemOnWire(source.behaviour, problemOf(source, refusal, path));
  return {
    status: refusal.status,
    headers: { "content-type": "application/problem+json", ...refusal.headers },
    body: JSON.stringify({ ...problem, ...members }),
  };
}

/** 422 for fields of a body. */
export function invalid(errors: readonly ProblemDetail[]): Refusal {
  const detail =
    errors.length === 1 ? (errors[0]?.detail ?? "") : `${errors.length} fields are not acceptable`;
  return { status: 422, code: "validation_failed", detail, errors };
}

/** 400 for a parameter of a query. */
export function badParameter(parameter: string, code: string, detail: string): Refusal {
  return { status: 400, code, detail, errors: [{ parameter, detail }] };
}

export function notFound(what: string, code = "not_found"): Refusal {
  return { status: 404, code, detail: `${what} does not exist` };
}

/** 409: the request and the state of an object, or another request, exclude each other. */
export function conflict(code: string, detail: string): Refusal {
  return { status: 409, code, detail };
}

export function methodNotAllowed(allow: string): Refusal {
  return {
    status: 405,
    code: "method_not_allowed",
    detail: `only ${allow} can be used here`,
    headers: { allow },
  };
}
