import type { Problem } from "./problem";

/** The last known state of an operation. */
export interface OperationSummary {
  /** The id of the operation. */
  readonly id: string;
  /** The status that the service returned. */
  readonly status: string;
  /** The progress from 0 to 1, or `undefined` if the service doesn't report progress. */
  readonly progress?: number | undefined;
}

/**
 * The error type of this package. Detect errors of this type with {@link isCloudInfraError}, and distinguish failures by `code`.
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
  /** The kind of failure. Codes are stable across versions. */
  readonly code: ErrorCode;
  /** The message without the method and path of the request. */
  readonly summary: string;
  /** The problem document of the reply or of the failed operation. */
  readonly problem: Problem | undefined;
  /** The HTTP status of the last reply. */
  readonly status: number | undefined;
  /** The HTTP method of the request. */
  readonly method: string | undefined;
  /** The path of the request, without the origin and the query string. */
  readonly path: string | undefined;
  /** The trace id of the reply, with which the service's operators can find the request. */
  readonly traceId: string | undefined;
  /** The number of attempts to send the request. */
  readonly attempts: number | undefined;
  /** What to do next. */
  readonly hint: string | undefined;
  /** The last known state of the failed operation. */
  readonly operation: OperationSummary | undefined;
  /** The pause that the service requested before the next attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** @internal Lines below the headline of the message, such as a table. */
  readonly lines: readonly string[] | undefined;
  /** @internal Whether the service may have processed the request, because the outcome of an attempt is unknown. */
  readonly sent: boolean;
  /** @internal Whether the service stored this failure for the idempotency key (§4.7). Only a new key can then change the result. */
  readonly replayed: boolean;
  /** @internal The id of the object that remains after the failed request or operation. */
  readonly resultId: string | undefined;

  /** @internal */
  constructor(code: ErrorCode, message: string, { cause, ...details }: ErrorDetails = {}) {
    const request = details.method && details.path ? ` [${details.method} ${details.path}]` : "";
    super(message + request, cause === undefined ? undefined : { cause });
    Object.assign(this, details);
    this.code = code;
    this.summary = message;
    this.traceId = details.traceId ?? details.problem?.traceId;
    this.sent = details.sent ?? false;
    this.replayed = details.replayed ?? false;
  }
}

/** Optional details of an error. If an error has no hint, messages contain the hint for its code from hints.ts. */
export type ErrorDetails = {
  [Name in Exclude<keyof CloudInfraError, "name" | "message" | "stack" | "code" | "summary">]?:
    | CloudInfraError[Name]
    | undefined;
};

/** Reports whether a value is an error of this package, including errors from another installed copy. */
export function isCloudInfraError(error: unknown): error is CloudInfraError {
  const isNamed = error instanceof Error && error.name === "CloudInfraError";
  return isNamed && Object.hasOwn(MEANINGS, codeOf(error) ?? "");
}

/** Returns a copy of an error with additional details. The original error becomes the cause. */
export function withDetails(error: CloudInfraError, details: ErrorDetails): CloudInfraError {
  return new CloudInfraError(error.code, error.summary, { ...detailsOf(error), cause: error, ...details });
}

/** Returns the details of an error, so that another error can be created from them. */
export function detailsOf(error: CloudInfraError): ErrorDetails {
  const { name: _name, code: _code, summary: _summary, ...details } = error;
  return details;
}

/** The meaning of each error code, in the order of `docs/errors.md`. The page is generated from this table and from hints.ts. */
export const MEANINGS = {
  config_missing: "A required setting is missing.",
  config_invalid: "A setting is invalid, such as the endpoint, the token source, a number or a duration.",
  input_invalid: "An argument, or a file that a command reads, is invalid.",
  unauthorized: "The service rejected the token (401, or 403 with a code such as `token_expired`).",
  forbidden:
    "The token is valid, but lacks a permission (403), or the service returns none of the account's objects.",
  not_found: "The requested object doesn't exist (404, 410).",
  refused: "The service rejected the request with another 4xx status, usually because of a property.",
  conflict: "The request conflicts with a name that is taken or a change in progress (409).",
  revision_conflict: "Another client changed the object since the last run (412). Nothing was overwritten.",
  rate_limited: "The service rate-limited all attempts (429).",
  unavailable: "The service is temporarily unavailable: all attempts failed (5xx, 408, 425).",
  unreachable: "No reply arrived. The connection failed (DNS, network, TLS or proxy), or was lost.",
  timeout: "The request timed out, or there was no time left for another attempt.",
  not_this_service: "Something other than the service replied: a web page, a redirect, or another API.",
  bad_reply: "The service's reply violates its API.",
  unsupported: "The service doesn't support the request (405, 501).",
  operation_failed: "The service accepted the request, but the operation failed.",
  operation_timeout: "The service accepted the request, but the operation didn't end within the time limit.",
  operation_unknown:
    "The service accepted the request, but the operation no longer exists, or its result may be another object.",
  no_result: "The operation is done, but its result can't be found.",
  not_applied: "The service accepted the update, but didn't apply it.",
  provider_changed: "The resource has an unfinished creation that a different provider started.",
  endpoint_changed: "The object was created at an endpoint that differs from the current endpoint.",
  key_expired: "An interrupted creation can't be resumed, because its idempotency key has expired.",
  import_differs:
    "The object specified by `import` differs from the program in a property that requires replacement.",
  aborted: "The command was interrupted.",
} as const;

/** The code of an error, such as `"revision_conflict"`. `docs/errors.md` describes all codes. */
export type ErrorCode = keyof typeof MEANINGS;

/** Returns the code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
