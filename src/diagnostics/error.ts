import type { Problem } from "./problem";

/** An operation of the service, as last seen. */
export interface OperationSummary {
  /** Its id. */
  readonly id: string;
  /** Its status in the service's own word. */
  readonly status: string;
  /** From 0 to 1. */
  readonly progress?: number | undefined;
}

/** What is known about a failure besides its code and words. All of it is optional. */
export interface ErrorDetails {
  cause?: unknown;
  /** The problem document of the reply, or of the failed operation (§2.4). */
  problem?: Problem | undefined;
  /** HTTP status of the last reply. */
  status?: number | undefined;
  method?: string | undefined;
  /** Path of the request, without origin and query. */
  path?: string | undefined;
  /** @default the problem document's */
  traceId?: string | undefined;
  /** How many times the request was tried. */
  attempts?: number | undefined;
  /** What to do next. @default derived from the code, see hints.ts */
  hint?: string | undefined;
  /** What is shown below the headline, line by line, such as a table. */
  lines?: readonly string[] | undefined;
  /** The outcome of some attempt is unknown, so the request may have been carried out. */
  sent?: boolean | undefined;
  /** All attempts with the idempotency key got the same failure, which the service has stored (§4.7): only a new key can change it. */
  replayed?: boolean | undefined;
  operation?: OperationSummary | undefined;
  /** Id of the object that the failed request or operation is known to have left behind. */
  resultId?: string | undefined;
  /** How long the service asked to stay away, in milliseconds. */
  retryAfterMs?: number | undefined;
}

/**
 * The error type of this package. Match it with {@link isCloudInfraError} and its `code`.
 *
 * @example
 * ```ts
 * const instances = getInstances().catch((error: unknown) => {
 *   if (isCloudInfraError(error) && error.code === "forbidden") return [];
 *   throw error;
 * });
 * ```
 */
export class CloudInfraError extends Error {
  /** Always `CloudInfraError`. */
  override readonly name = "CloudInfraError";
  /** What kind of failure it is. Codes don't change from version to version. */
  readonly code: ErrorCode;
  /** The message without the request. `message` is this and the request. */
  readonly summary: string;
  /** The problem document of the service's reply or of the failed operation. */
  readonly problem: Problem | undefined;
  /** HTTP status of the last reply. */
  readonly status: number | undefined;
  /** HTTP method of the request. */
  readonly method: string | undefined;
  /** Path of the request, without origin and query. */
  readonly path: string | undefined;
  /** The service's trace id, for its operators. */
  readonly traceId: string | undefined;
  /** How many times the request was sent. */
  readonly attempts: number | undefined;
  /** What to do next. */
  readonly hint: string | undefined;
  /** The failed operation, as last seen. */
  readonly operation: OperationSummary | undefined;
  /** How long the service asked to wait before the next request, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** @internal */
  readonly lines: readonly string[] | undefined;
  /** @internal */
  readonly sent: boolean;
  /** @internal */
  readonly replayed: boolean;
  /** @internal */
  readonly resultId: string | undefined;

  /** @internal */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const request = details.method && details.path ? ` [${details.method} ${details.path}]` : "";
    super(message + request, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.summary = message;
    this.problem = details.problem;
    this.status = details.status;
    this.method = details.method;
    this.path = details.path;
    this.traceId = details.traceId ?? details.problem?.traceId;
    this.attempts = details.attempts;
    this.hint = details.hint;
    this.lines = details.lines;
    this.sent = details.sent ?? false;
    this.replayed = details.replayed ?? false;
    this.operation = details.operation;
    this.resultId = details.resultId;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** True for an error of this package, also when it was made by another copy of it. */
export function isCloudInfraError(error: unknown): error is CloudInfraError {
  return (
    error instanceof Error && error.name === "CloudInfraError" && "code" in error && isErrorCode(error.code)
  );
}

/** The same failure with more known about it; the original becomes the cause. */
export function withDetails(error: CloudInfraError, details: ErrorDetails): CloudInfraError {
  return new CloudInfraError(error.code, error.summary, { ...detailsOf(error), cause: error, ...details });
}

/** All that is known of a failure, for another error about it. */
export function detailsOf(error: CloudInfraError): ErrorDetails {
  const { name: _name, code: _code, summary: _summary, ...details } = error;
  return details;
}

/**
 * Every code of an error and what it means, in the order in which a person meets them. The codes are stable: match them instead of
 * words or classes. `docs/errors.md` is made of this table and of the one in hints.ts.
 */
export const MEANINGS = {
  config_missing: "A setting that is needed is not there.",
  config_invalid: "A setting can't be used: the endpoint, the source of the token, a number, a duration.",
  input_invalid: "An argument can't be used, or a file that a command was given.",
  unauthorized: "The service does not accept the token (401).",
  forbidden:
    "The token is accepted, but may not do this (403), or it belongs to an account that shows nothing at all.",
  not_found: "What is asked for is not there (404, 410).",
  refused: "The service refuses the request (another 4xx); most often a property is to blame.",
  conflict: "Something else is in the way (409): a name that is taken, or a change in progress.",
  revision_conflict: "Somebody else changed it since the state was written (412). Nothing was overwritten.",
  rate_limited: "The service was asked too often (429), and went on saying so.",
  unavailable: "The service fails (5xx), and went on failing.",
  unreachable:
    "No HTTP reply that can be read: the name, the network, TLS, a proxy, or a connection that broke.",
  timeout: "The time allowed has passed.",
  not_this_service:
    "Something answers at the endpoint, but it is not this service: a page, a redirect, another API.",
  bad_reply: "The service answers, but in a way that breaks the rules of its API.",
  unsupported: "The service does not offer this (405, 501).",
  operation_failed: "The service accepted the request, worked on it, and failed.",
  operation_timeout: "The service accepted the request, and was not done in the time allowed.",
  operation_unknown: "The service accepted the request, but no longer knows the operation.",
  no_result: "The operation is done, but what it made is not to be found.",
  not_applied: "The service accepted a change, and did not make it.",
  provider_changed:
    "An unfinished creation began with another provider than the one that the resource has now.",
  endpoint_changed: "The object was made at another endpoint than the one that is set now.",
  key_expired: "A creation that was cut off can't be settled any more: its key is older than a day (§4.7).",
  import_differs: "What `import` names can't become what the program asks for without being replaced.",
  aborted: "It was interrupted.",
} as const;

/** The kind of a failure, such as `"revision_conflict"`. `docs/errors.md` lists all of them. */
export type ErrorCode = keyof typeof MEANINGS;

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(MEANINGS, code);
}
