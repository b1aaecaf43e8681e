import type { Reply } from "./reply";

/** One thing that is wrong with a request: `pointer` into its body, or `parameter` of its query. */
export interface ProblemDetail {
  /** What is wrong, in words. */
  readonly detail: string;
  /** JSON pointer into the request's body. */
  readonly pointer?: string;
  /** Name in the request's query. */
  readonly parameter?: string;
  /** What is wrong, for programs. */
  readonly code?: string;
}

/** A problem document (§2.4), with `errors` where single fields or parameters are to blame. */
export interface Problem {
  /** Address that names the kind of problem. */
  type: string;
  /** The kind of problem, in words. */
  title: string;
  /** Status of the answer. */
  status: number;
  /** What was wrong this time, in words. */
  detail: string;
  /** Path of the request. */
  instance: string;
  /** The kind of problem, for programs: `validation_failed`. */
  code: string;
  /** For the service's operators. */
  trace_id: string;
  /** What is wrong one by one. */
  errors?: readonly ProblemDetail[];
}

/** A refusal before it has a trace id and the path it is about. */
export interface Refusal {
  /** Status of the answer. */
  readonly status: number;
  /** The kind of problem, for programs. */
  readonly code: string;
  /** What was wrong, in words. */
  readonly detail: string;
  /** What is wrong one by one. @default none */
  readonly errors?: readonly ProblemDetail[] | undefined;
  /** Further headers of the answer. @default none */
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
  412: "Precondition failed",
  413: "Body too large",
  415: "Unsupported media type",
  422: "Not acceptable as it is",
  428: "Precondition required",
  429: "Too many requests",
  500: "Internal error",
  502: "Bad gateway",
  503: "Service unavailable",
  504: "Gateway timeout",
};

export function problemOf(refusal: Refusal, path: string, traceId: string): Problem {
  return {
    type: `urn:cloudinfra:problem:${refusal.code}`,
    title: titles[refusal.status] ?? "Error",
    status: refusal.status,
    detail: refusal.detail,
    instance: path,
    code: refusal.code,
    trace_id: traceId,
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
  };
}

export function problemReply(problem: object, status: number, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
    body: JSON.stringify(problem),
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

export function methodNotAllowed(allow: string): Refusal {
  return {
    status: 405,
    code: "method_not_allowed",
    detail: `only ${allow} can be used here`,
    headers: { allow },
  };
}
