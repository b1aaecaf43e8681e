import { remainingMs } from "../../operations/deadline";
import type { Context } from "../call";

/** A list may lag behind what was written, so a read is repeated after each of these pauses. */
const LAG_PAUSES_MS = [500, 1_000, 2_000];
const MAX_PAUSE_MS = 15_000;
/** How long a list that shows an older revision may take to catch up. */
const CATCHING_UP_MS = 30_000;
/** Kept free before the deadline for the last read and what follows it. */
const LAST_READ_MS = 1_000;

/** For how long a read is repeated: for a few seconds, for half a minute, or for as long as the call may take. */
export type Patience = "lag" | "catching up" | "deadline";

/**
 * Repeats a read until it shows what is expected, because a list may lag behind what was written.
 *
 * @returns the last read, even if it doesn't show that
 */
export async function readUntil<T>(
  context: Context,
  read: () => Promise<T>,
  isShown: (seen: T) => boolean,
  patienceFor: (seen: T) => Patience = () => "lag",
): Promise<T> {
  const { deadline, signal, session } = context;
  const began = session.clock.now();
  let seen = await read();
  for (let count = 0; !isShown(seen); count++) {
    const patience = patienceFor(seen);
    const wanted = LAG_PAUSES_MS[count] ?? (patience === "lag" ? 0 : 500 * 2 ** count);
    const left = remainingMs(deadline, session.clock) - Math.min(LAST_READ_MS, deadline.ms / 10);
    const limit =
      patience === "deadline" ? left : Math.min(left, began + CATCHING_UP_MS - session.clock.now());
    const pause = Math.min(wanted, MAX_PAUSE_MS, limit);
    if (pause <= 0) break;
    await session.clock.sleep(pause, signal);
    seen = await read();
  }
  return seen;
}
