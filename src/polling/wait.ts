import { formatDuration } from "../diagnostics/durations";
import { CloudInfraError, type ErrorCode, isCloudInfraError, withDetails } from "../diagnostics/error";
import { type Backoff, type Pause, pauseMs } from "./backoff";
import { type Clock, type Deadline, isTimeIsUp, limitOf, remainingMs, timeIsUp, within } from "./clock";
import { isSuccess, isTerminal, type Operation, summarizeOperation } from "./operation";
import { PollSchedule, remainingEstimateMs, type Sample, type WaitSoFar } from "./schedule";

/** What is known in the middle of a wait. */
export interface WaitProgress {
  readonly status: string;
  /** From 0 to 1. */
  readonly progress?: number | undefined;
  readonly elapsedMs: number;
  /** Estimated; undefined where nothing sensible can be said. */
  readonly remainingMs?: number | undefined;
  /** Where the last look failed in a way that may pass. */
  readonly pause?: Pause | undefined;
}

export interface WaitOptions {
  /** One look at the operation. It may throw; see {@link waitForOperation} for what that means. */
  poll: (operation: Operation, signal: AbortSignal) => Promise<Operation>;
  deadline: Deadline;
  clock: Clock;
  signal?: AbortSignal | undefined;
  /** From 0 to 1. @default Math.random */
  random?: (() => number) | undefined;
  /** Called before each pause. What it throws is ignored: a progress line never fails the work. */
  onProgress?: ((progress: WaitProgress) => void) | undefined;
}

/** Kept free before the deadline: an operation that is done just before it should be seen. */
const LAST_POLL_MS = 1_000;
const POLL_BACKOFF: Backoff = { baseMs: 500, capMs: 30_000 };

/** Over the next poll these pass. */
const TRANSIENT_CODES: ReadonlySet<ErrorCode> = new Set([
  "unavailable",
  "unreachable",
  "rate_limited",
  "timeout",
]);

/** These may pass too (an error page of a proxy, a cut-off reply), but not for ever, nor 404 right after the creation. */
const RETRIES_BY_CODE: ReadonlyMap<ErrorCode, number> = new Map([
  ["not_found", 1],
  ["not_this_service", 5],
  ["bad_reply", 5],
]);

/**
 * Waits until an operation is over, in whatever status (design: polls few, notice quick).
 *
 * Polls that fail in a way that may pass are repeated with backoff until the deadline; others end the wait at once.
 *
 * @returns the terminal operation, also when it failed
 * @throws CloudInfraError that carries the operation: `operation_timeout` at the deadline, `operation_unknown` when its address
 * answers 404 twice in a row, `aborted`, or the poll's own definite error
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
        : PollSchedule.next(soFar);
      const pause = failed && ({ for: "next try", after: failed, at: clock.now() + planned } as const);
      reportProgress(options, operation, soFar, pause);
      await clock.sleep(withLastPoll(planned, deadline, clock), limit.signal);
      const askedMs = clock.now();
      try {
        operation = await within(limit.signal, options.poll(operation, limit.signal));
        failures = [];
        const nowMs = clock.now();
        samples.push({ atMs: nowMs - startMs, tookMs: nowMs - askedMs, progress: operation.progress });
      } catch (error) {
        if (limit.signal.aborted || !mayPass(error, failures)) throw error;
        failures.push(error);
      }
    }
    return operation;
  } catch (error) {
    throw waitError(error, operation, failures.at(-1), clock.now() - startMs, options);
  } finally {
    limit.release();
  }
}

/**
 * {@link waitForOperation}, and an operation that ended in any status but `done` is an error.
 *
 * @throws CloudInfraError `operation_failed`; see {@link operationFailed}
 */
export async function waitForSuccess(first: Operation, options: WaitOptions): Promise<Operation> {
  const operation = await waitForOperation(first, options);
  if (isSuccess(operation)) return operation;
  throw operationFailed(operation);
}

/** What an operation that ended in any status but `done` has to say: its problem and, where known, the object it left behind. */
export function operationFailed(operation: Operation): CloudInfraError {
  const { id, status, error: problem, resource } = operation;
  const why = problem?.code ?? problem?.title;
  const message = `operation ${id} ended as "${status}"${why === undefined ? "" : `: ${why}`}`;
  const details = { problem, operation: summarizeOperation(operation), resultId: resource };
  return new CloudInfraError("operation_failed", message, details);
}

/** A pause that never passes the deadline and leaves room for one more look before it. */
function withLastPoll(plannedMs: number, deadline: Deadline, clock: Clock): number {
  const roomMs = Math.min(LAST_POLL_MS, deadline.ms / 10);
  const leftMs = remainingMs(deadline, clock) - roomMs;
  if (leftMs <= 0) throw timeIsUp();
  return Math.min(plannedMs, leftMs);
}

function mayPass(error: unknown, failures: readonly CloudInfraError[]): error is CloudInfraError {
  if (!isCloudInfraError(error)) return false;
  const sameBefore = failures.filter(({ code }) => code === error.code).length;
  return TRANSIENT_CODES.has(error.code) || sameBefore < (RETRIES_BY_CODE.get(error.code) ?? 0);
}

function waitError(
  error: unknown,
  operation: Operation,
  lastFailure: CloudInfraError | undefined,
  elapsedMs: number,
  { signal, deadline, clock }: WaitOptions,
): unknown {
  const details = { operation: summarizeOperation(operation), resultId: operation.resource };
  if (signal?.aborted) {
    const message = `the wait for operation ${operation.id} was interrupted (${shortStatus(operation)})`;
    return new CloudInfraError("aborted", message, { ...details, cause: signal.reason });
  }
  if (isTimeIsUp(error) || remainingMs(deadline, clock) === 0) {
    const message = `operation ${operation.id} is not over after ${formatDuration(elapsedMs)} (${shortStatus(operation)})`;
    return new CloudInfraError("operation_timeout", message, { ...details, cause: lastFailure });
  }
  if (!isCloudInfraError(error)) return error;
  if (error.code !== "not_found") return withDetails(error, details);
  const { status, method, path, traceId, problem } = error;
  const message = `the service does not know operation ${operation.id} (last seen: ${shortStatus(operation)})`;
  return new CloudInfraError("operation_unknown", message, {
    status,
    method,
    path,
    traceId,
    problem,
    ...details,
    cause: error,
  });
}

function shortStatus({ status, progress }: Operation): string {
  return progress === undefined ? status : `${status}, ${Math.round(progress * 100)} %`;
}

function reportProgress(
  { onProgress }: WaitOptions,
  { status, progress }: Operation,
  soFar: WaitSoFar,
  pause: Pause | undefined,
): void {
  try {
    const { elapsedMs } = soFar;
    onProgress?.({ status, progress, elapsedMs, remainingMs: remainingEstimateMs(soFar), pause });
  } catch {
    // By contract: showing progress is never a reason to lose an operation.
  }
}
