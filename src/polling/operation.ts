import type { OperationSummary } from "../diagnostics/error";
import type { Problem } from "../diagnostics/problem";

/** A long-running operation of the service (§2.3) as last seen. */
export interface Operation {
  readonly id: string;
  /** Where it is polled. */
  readonly url: string;
  /** In the service's spelling. */
  readonly status: string;
  /** From 0 to 1; undefined where the service does not tell. */
  readonly progress?: number | undefined;
  /** Link to the result as received: absolute or relative. */
  readonly resultUrl?: string | undefined;
  readonly error?: Problem | undefined;
  /** Milliseconds since 1970, UTC. */
  readonly startedAt?: number | undefined;
  /** Milliseconds since 1970, UTC. */
  readonly finishedAt?: number | undefined;
  /** Id of the object it is about, where the reply names it. */
  readonly resource?: string | undefined;
  /** How long to wait before the next poll at least, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

const SUCCESS = "done";
const FAILED = new Set(["failed", "error", "cancelled", "canceled", "aborted"]);
const UNFINISHED = new Set(["pending", "running"]);

/** `done`, and nothing against it. No other word is success, however well it sounds. */
export function isSuccess(operation: Operation): boolean {
  return operation.error === undefined && statusOf(operation) === SUCCESS;
}

/** Over, and not a success. */
export function isFailure(operation: Operation): boolean {
  return isTerminal(operation) && !isSuccess(operation);
}

/** Whether it will not change any more: `done`, a failure by name or by its `error`, or an unknown status with `finished_at`. */
export function isTerminal(operation: Operation): boolean {
  const status = statusOf(operation);
  if (operation.error !== undefined || status === SUCCESS || FAILED.has(status)) return true;
  return !UNFINISHED.has(status) && operation.finishedAt !== undefined;
}

/** What an error tells about an operation. */
export function summarizeOperation({ id, status, progress }: Operation): OperationSummary {
  return { id, status, progress };
}

function statusOf(operation: Operation): string {
  return operation.status.trim().toLowerCase();
}
