import type { CallOptions } from "../../api/client";
import { formatDuration } from "../../diagnostics/duration";
import { CloudInfraError } from "../../diagnostics/error";
import type { Clock } from "../../operations/clock";
import { limitOf, remainingMs, within } from "../../operations/deadline";

/**
 * What others may be waiting for, too: each waits no longer than its own call may take, and the work goes on for the rest.
 *
 * @param what it is, for the words: `the list of instances`
 * @throws CloudInfraError `timeout`, `aborted`; whatever the work itself failed with
 */
export async function withinOwnDeadline<T>(
  shared: Promise<T>,
  { deadline, signal: outer }: CallOptions,
  clock: Clock,
  what: string,
): Promise<T> {
  const limit = limitOf(remainingMs(deadline, clock), clock, outer);
  try {
    return await within(limit.signal, shared);
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    if (outer?.aborted) throw new CloudInfraError("aborted", "it was interrupted", { cause: outer.reason });
    throw new CloudInfraError(
      "timeout",
      `${what} did not come to its end within ${formatDuration(deadline.ms)}`,
    );
  } finally {
    limit.release();
  }
}
