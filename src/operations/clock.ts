/** Time as this package sees it, so that tests can be in charge of it. All times are milliseconds. */
export interface Clock {
  /** Monotonic; only differences mean anything. */
  now(): number;
  /** A pause that is part of the plan. Rejects with `signal.reason`, at once, when the signal is or gets aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `ring` once when the time has passed, as a limit on something else. Returns what takes it back. */
  alarm(ms: number, ring: () => void): () => void;
}

/** Node's timers hold 31 bits; beyond that they would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The real time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  alarm: startAlarm,
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = startAlarm(ms, () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
      signal?.addEventListener("abort", stop, { once: true });
    });
  },
};

function startAlarm(ms: number, ring: () => void): () => void {
  const step = Math.min(Math.max(ms, 0), MAX_TIMER_MS);
  let timer = setTimeout(next, step, ms - step);
  function next(rest: number): void {
    const nextStep = Math.min(rest, MAX_TIMER_MS);
    if (rest <= 0) ring();
    else timer = setTimeout(next, nextStep, rest - nextStep);
  }
  return () => clearTimeout(timer);
}
