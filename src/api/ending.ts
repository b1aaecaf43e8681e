import { formatDuration } from "../diagnostics/duration";
import { CloudInfraError, isCloudInfraError, withDetails } from "../diagnostics/error";
import type { Deadline } from "../operations/deadline";
import { mayBeCarriedOut, type RequestHistory } from "./failure";

/** A request that was ended from outside: by its deadline, or by whoever made it. */
export function interruptedRequest(
  seen: RequestHistory,
  deadline: Deadline,
  outer: AbortSignal | undefined,
): CloudInfraError {
  const { method, path, attempts, last } = seen;
  const details = {
    method,
    path,
    attempts,
    sent: mayBeCarriedOut(seen),
    status: last?.status,
    problem: last?.problem,
    traceId: last?.traceId,
  };
  if (outer?.aborted)
    return new CloudInfraError("aborted", "it was interrupted", { ...details, cause: outer.reason });
  const message = last
    ? `no success within ${formatDuration(deadline.ms)}: ${last.summary}`
    : `the service gave no answer within ${formatDuration(deadline.ms)}`;
  return new CloudInfraError("timeout", message, { ...details, cause: last });
}

/** No further try can start before the deadline. */
export function deadlineReached(failure: CloudInfraError, deadline: Deadline): CloudInfraError {
  const asked = failure.retryAfterMs;
  const wish = asked === undefined ? "" : `; the service asks to come back in ${formatDuration(asked)}`;
  const message = `no success within ${formatDuration(deadline.ms)}: ${failure.summary}${wish}`;
  const { method, path, attempts, sent, status, problem, traceId } = failure;
  return new CloudInfraError("timeout", message, {
    method,
    path,
    attempts,
    sent,
    status,
    problem,
    traceId,
    retryAfterMs: asked,
    cause: failure,
  });
}

/** The error that ends a request between two attempts, such as a missing token, doesn't settle what an earlier attempt may have done. */
export function withUnknownOutcome(error: unknown, seen: RequestHistory): unknown {
  if (!isCloudInfraError(error) || error.sent || !mayBeCarriedOut(seen)) return error;
  const { method, path, attempts } = seen;
  return withDetails(error, { method, path, attempts, sent: true });
}
