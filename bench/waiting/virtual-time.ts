import { setImmediate } from "node:timers/promises";
import { withGlobal } from "@sinonjs/fake-timers";

/**
 * Runs work in time that passes at once: `setTimeout`, `Date` and `performance` are in charge of a fake clock, which moves to the next
 * timer as soon as all that can run without it has run. One work at a time.
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
      if (clock.countTimers() === 0) throw new Error("everybody waits, and nobody for the time");
      clock.next();
    }
  } finally {
    clock.uninstall();
  }
}

/** Twice: google-gax ends by an immediate of its own. */
async function settled(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
