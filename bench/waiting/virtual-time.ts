import { setImmediate } from "node:timers/promises";
import { withGlobal } from "@sinonjs/fake-timers";

/**
 * Runs work in virtual time. A fake clock replaces `setTimeout`, `Date` and `performance`. It jumps to the next timer
 * when no other work is left. Only one call may run at a time.
 */
export async function inVirtualTime<T>(work: () => Promise<T>): Promise<T> {
  const clock = withGlobal(globalThis).install({
    toFake: ["setTimeout", "clearTimeout", "Date", "performance"],
  });
  try {
    let isOver = false;
    const result = work().finally(() => {
      isOver = true;
    });
    result.catch(() => {});
    for (;;) {
      await settled();
      if (isOver) return await result;
      if (clock.countTimers() === 0) throw new Error("the work waits, but not for a timer");
      clock.next();
    }
  } finally {
    clock.uninstall();
  }
}

/** Twice, because google-gax ends with a `setImmediate` of its own. */
async function settled(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
