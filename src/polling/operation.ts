import type { OperationSummary } from "../diagnostics/error";
import type { Problem } from "../diagnostics/problem";

/** The last known state of a long-running operation (§2.3). */
export interface Operation {
  readonly id: string;
  /** URL to poll. */
  readonly url: string;
  /** Status as the service writes it. */
  readonly status: string;
  /** From 0 to 1; undefined if the service doesn't report it. */
  readonly progress?: number | undefined;
  /** Link to the result as received, absolute or relative. */
  readonly resultUrl?: string | undefined;
  readonly error?: Problem | undefined;
  /** Milliseconds since 1970, UTC. */
  readonly startedAt?: number | undefined;
  /** Milliseconds since 1970, UTC. */
  readonly finishedAt?: number | undefined;
  /** Id of the object that the operation is about, if the reply includes it. */
  readonly resource?: string | undefined;
  /** Minimum wait before the next poll, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

const SUCCESS = "done";
const FAILED = new Set(["failed", "error", "cancelled", "canceled", "aborted"]);
const UNFINISHED = new Set(["pending", "running"]);

/** Whether the status is `done` and there is no error. Any other final status is a failure, even if its name suggests success. */
export function isSuccess(operation: Operation): boolean {
  return operation.error === undefined && statusOf(operation) === SUCCESS;
}

/** Whether the operation ended without success. */
export function isFailure(operation: Operation): boolean {
  return isTerminal(operation) && !isSuccess(operation);
}

/** Whether the operation ended: it is `done`, it has a failure status or an error, or it has `finished_at` and an unknown status. */
export function isTerminal(operation: Operation): boolean {
  const status = statusOf(operation);
  if (operation.error !== undefined || status === SUCCESS || FAILED.has(status)) return true;
  return !UNFINISHED.has(status) && operation.finishedAt !== undefined;
}

/** Returns the part of an operation that errors include. */
export function summarizeOperation({ id, status, progress }: Operation): OperationSummary {
  return { id, status, progress };
}

function statusOf(operation: Operation): string {
  return operation.status.trim().toLowerCase();
}
