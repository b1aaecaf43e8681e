import { duration } from "../diagnostics/duration";
import { CloudInfraError, isCloudInfraError, withDetails } from "../diagnostics/error";
import type { Deadline } from "../operations/deadline";
import { type History, mayBeDone } from "./failure";

/** A request that was ended from outside: by its deadline, or by whoever made it. */
export function interruption(
  seen: History,
  deadline: Deadline,
  outer: AbortSignal | undefined,
): CloudInfraError {
  const { method, path, attempts, last } = seen;
  const details = {
    method,
    path,
    attempts,
    sent: mayBeDone(seen),
    status: last?.status,
    problem: last?.problem,
    traceId: last?.traceId,
  };
  if (outer?.aborted)
    return new CloudInfraError("aborted", "it was interrupted", { ...details, cause: outer.reason });
  const message = last
    ? `no success within ${duration(deadline.ms)}: ${last.summary}`
    : `the service gave no answer within ${duration(deadline.ms)}`;
  return new CloudInfraError("timeout", message, { ...details, cause: last });
}

/** No further try can start before the deadline. */
export function outOfTime(failure: CloudInfraError, deadline: Deadline): CloudInfraError {
  const asked = failure.retryAfterMs;
  const wish = asked === undefined ? "" : `; the service asks to come back in ${duration(asked)}`;
  const message = `no success within ${duration(deadline.ms)}: ${failure.summary}${wish}`;
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
export function stillUnknown(error: unknown, seen: History): unknown {
  if (!isCloudInfraError(error) || error.sent || !mayBeDone(seen)) return error;
  const { method, path, attempts } = seen;
  return withDetails(error, { method, path, attempts, sent: true });
}
