import {
  CloudInfraError,
  type ErrorCode,
  isCloudInfraError,
  type OperationSummary,
  withDetails,
} from "../diagnostics/error";
import type { Problem } from "../diagnostics/problem";
import {
  type Clock,
  type Deadline,
  formatDuration,
  isTimeoutError,
  limitOf,
  remainingMs,
  timeoutError,
  within,
} from "./clock";
import { type Backoff, nextPollMs, type Pause, pauseMs, remainingEstimateMs, type Sample } from "./schedule";

export interface WaitProgress {
  readonly progress?: number | undefined;
  /** The estimated remaining time in milliseconds, or `undefined` if the reported progress allows no estimate. */
  readonly remainingMs?: number | undefined;
  /** The pause before the next attempt, if the last poll failed. */
  readonly pause?: Pause | undefined;
}

export interface WaitOptions {
  poll: (operation: Operation, signal: AbortSignal) => Promise<Operation>;
  deadline: Deadline;
  clock: Clock;
  signal?: AbortSignal | undefined;
  /** Returns a random number from 0 to 1, for jitter. @default Math.random */
  random?: (() => number) | undefined;
  /** Called before each pause. Must not throw. */
  onProgress?: ((progress: WaitProgress) => void) | undefined;
}

/** The last poll starts this many milliseconds before the deadline, to detect operations that end just in time. */
const LAST_POLL_MS = 1_000;
const POLL_BACKOFF: Backoff = { baseMs: 500, capMs: 30_000 };

/**
 * The maximum number of retries by error code. Temporary failures are retried until the deadline. Typical causes of the others are a proxy's
 * error page, a truncated reply, or a 404 right after the creation.
 */
const RETRIES: Partial<Record<ErrorCode, number>> = {
  unavailable: Number.POSITIVE_INFINITY,
  unreachable: Number.POSITIVE_INFINITY,
  rate_limited: Number.POSITIVE_INFINITY,
  timeout: Number.POSITIVE_INFINITY,
  not_this_service: 5,
  bad_reply: 5,
  not_found: 1,
};

/**
 * The time for which a new operation may be missing, in milliseconds, because polls may reach a replica that lags behind the creation. A
 * quarter of a short deadline leaves time for the caller to handle an operation that no longer exists.
 */
const NEW_OPERATION_MS = 4_000;

/**
 * Polls an operation until it ends. Temporary failures of a poll are retried with backoff until the deadline. Other failures end the wait.
 *
 * @returns the finished operation, which may have failed
 * @throws CloudInfraError with the operation: `operation_timeout` at the deadline, `operation_unknown` after two consecutive 404s
 * (or four seconds of 404s if no poll has found the operation), `aborted`, or the permanent failure of a poll
 */
export async function waitForOperation(first: Operation, options: WaitOptions): Promise<Operation> {
  const { clock, deadline, random = Math.random } = options;
  const startMs = clock.now();
  const limit = limitOf(remainingMs(deadline, clock), clock, options.signal);
  const samples: Sample[] = [{ atMs: 0, progress: first.progress }];
  const spread = random();
  let operation = first;
  let failures: CloudInfraError[] = [];
  try {
    while (!isTerminal(operation)) {
      const elapsedMs = clock.now() - startMs;
      const soFar = { elapsedMs, samples, retryAfterMs: operation.retryAfterMs, spread };
      const failed = failures.at(-1);
      const planned = failed
        ? pauseMs(POLL_BACKOFF, failures.length, random, failed.retryAfterMs)
        : nextPollMs(soFar);
      const pause = failed && ({ for: "retry", after: failed, at: clock.now() + planned } as const);
      const { progress } = operation;
      options.onProgress?.({ progress, remainingMs: remainingEstimateMs(soFar), pause });
      // The pause is shortened so that one more poll is possible before the deadline.
      const leftMs = remainingMs(deadline, clock) - Math.min(LAST_POLL_MS, deadline.ms / 10);
      if (leftMs <= 0) throw timeoutError();
      await clock.sleep(Math.min(planned, leftMs), limit.signal);
      const polledMs = clock.now();
      try {
        operation = await within(limit.signal, options.poll(operation, limit.signal));
        failures = [];
        const nowMs = clock.now();
        samples.push({ atMs: nowMs - startMs, tookMs: nowMs - polledMs, progress: operation.progress });
      } catch (error) {
        const isNew =
          samples.length === 1 && clock.now() - startMs < Math.min(NEW_OPERATION_MS, deadline.ms / 4);
        if (limit.signal.aborted || !mayRetry(error, failures, isNew)) throw error;
        failures.push(error);
      }
    }
    return operation;
  } catch (error) {
    throw waitError(error, operation, failures.at(-1), options);
  } finally {
    limit.release();
  }
}

/** Creates the error for a failed operation, with its problem and, if known, the id of the object that remains. */
export function operationFailed(operation: Operation): CloudInfraError {
  const { id, status, error: problem, resource } = operation;
  const why = problem?.code ?? problem?.title;
  const message = `operation ${id} ended with status "${status}"${why === undefined ? "" : `: ${why}`}`;
  const details = { problem, operation: summarizeOperation(operation), resultId: resource };
  return new CloudInfraError("operation_failed", message, details);
}

/** @param isNew whether the operation may not be visible yet */
function mayRetry(
  error: unknown,
  failures: readonly CloudInfraError[],
  isNew: boolean,
): error is CloudInfraError {
  if (!isCloudInfraError(error)) return false;
  if (isNew && error.code === "not_found") return true;
  const sameBefore = failures.filter(({ code }) => code === error.code).length;
  return sameBefore < (RETRIES[error.code] ?? 0);
}

function waitError(
  error: unknown,
  operation: Operation,
  lastFailure: CloudInfraError | undefined,
  { signal, deadline, clock }: WaitOptions,
): unknown {
  const details = { operation: summarizeOperation(operation), resultId: operation.resource };
  if (signal?.aborted) {
    const message = `interrupted while waiting for operation ${operation.id} (${shortStatus(operation)})`;
    return new CloudInfraError("aborted", message, { ...details, cause: signal.reason });
  }
  if (isTimeoutError(error) || remainingMs(deadline, clock) === 0) {
    const message = `timed out after ${formatDuration(deadline.ms)} waiting for operation ${operation.id} (${shortStatus(operation)})`;
    return new CloudInfraError("operation_timeout", message, { ...details, cause: lastFailure });
  }
  if (!isCloudInfraError(error)) return error;
  if (error.code !== "not_found") return withDetails(error, details);
  const { status, method, path, traceId, problem } = error;
  const message = `operation ${operation.id} no longer exists (last status: ${shortStatus(operation)})`;
  const request = { status, method, path, traceId, problem };
  return new CloudInfraError("operation_unknown", message, { ...request, ...details, cause: error });
}

function shortStatus({ status, progress }: Operation): string {
  return progress === undefined ? status : `${status}, ${Math.round(progress * 100)}%`;
}

/** The last known state of a long-running operation (§2.3). */
export interface Operation {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  /** The progress from 0 to 1, or `undefined` if the service doesn't report progress. */
  readonly progress?: number | undefined;
  /** The URL of the result, which may be absolute or relative. */
  readonly resultUrl?: string | undefined;
  readonly error?: Problem | undefined;
  /** The start and the end as ISO 8601 dates, which may lack a time zone. */
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** The id of the object that the operation creates or changes, if known. */
  readonly resource?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

const SUCCESS = "done";
const FAILED = new Set(["failed", "error", "cancelled", "canceled", "aborted"]);
const UNFINISHED = new Set(["pending", "running"]);

/** Reports whether the operation has the status `done` and no error. Any other final status is a failure. */
export function isSuccess(operation: Operation): boolean {
  return operation.error === undefined && statusOf(operation) === SUCCESS;
}

export function isFailure(operation: Operation): boolean {
  return isTerminal(operation) && !isSuccess(operation);
}

/** Reports whether the operation has ended: with `done`, a failure status, an error, or an unknown status together with `finished_at`. */
export function isTerminal(operation: Operation): boolean {
  const status = statusOf(operation);
  if (operation.error !== undefined || status === SUCCESS || FAILED.has(status)) return true;
  return !UNFINISHED.has(status) && operation.finishedAt !== undefined;
}

/** Returns the properties of an operation that errors contain. */
export function summarizeOperation({ id, status, progress }: Operation): OperationSummary {
  return { id, status, progress };
}

function statusOf(operation: Operation): string {
  return operation.status.trim().toLowerCase();
}
