import { remainingMs } from "../../operations/deadline";
import type { Call } from "../call";

/** A list may lag behind what was written, so a read is repeated after each of these pauses. */
const LAG_PAUSES_MS = [500, 1_000, 2_000];
const LONGEST_PAUSE_MS = 15_000;
/** Kept free before the deadline for the last read and what follows it. */
const LAST_READ_MS = 1_000;

/**
 * Repeats a read until it shows what is expected: for a few seconds, because a list may lag; or, with the patience `deadline`, for as
 * long as the call may take.
 *
 * @returns the last read, even if it doesn't show that
 */
export async function readUntil<T>(
  call: Call,
  read: () => Promise<T>,
  isShown: (seen: T) => boolean,
  patience: "lag" | "deadline" = "lag",
): Promise<T> {
  const { deadline, signal, session } = call;
  let seen = await read();
  for (let count = 0; !isShown(seen); count++) {
    const wanted = LAG_PAUSES_MS[count] ?? (patience === "deadline" ? 500 * 2 ** count : 0);
    const left = remainingMs(deadline, session.clock) - Math.min(LAST_READ_MS, deadline.ms / 10);
    const pause = Math.min(wanted, LONGEST_PAUSE_MS, left);
    if (pause <= 0) break;
    await session.clock.sleep(pause, signal);
    seen = await read();
  }
  return seen;
}
