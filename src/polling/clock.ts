/** A source of time that tests can replace. All times are in milliseconds. */
export interface Clock {
  /** Returns the time of a monotonic clock, whose start is arbitrary. */
  now(): number;
  /** Resolves after the given time. Rejects with `signal.reason` if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `ring` once after the given time. Returns a function that cancels the call. */
  alarm(ms: number, ring: () => void): () => void;
}

/** The maximum delay of a Node.js timer, which is 24 days. A timer with a longer delay would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  alarm: startAlarm,
  sleep(ms, signal) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = startAlarm(ms, resolve);
    return signal === undefined ? promise : within(signal, promise).finally(cancel);
  },
};

function startAlarm(ms: number, ring: () => void): () => void {
  const timer = setTimeout(ring, Math.min(ms, MAX_TIMER_MS));
  return () => clearTimeout(timer);
}

export interface Deadline {
  /** The time of the deadline on the clock, in milliseconds. */
  readonly at: number;
  /** The total time limit in milliseconds, for messages. */
  readonly ms: number;
}

export function deadlineIn(ms: number, clock: Clock): Deadline {
  return { at: clock.now() + ms, ms };
}

/** Returns the milliseconds until the deadline, or 0 if the deadline has passed. */
export function remainingMs(deadline: Deadline, clock: Clock): number {
  return Math.max(0, deadline.at - clock.now());
}

/**
 * Creates a signal that is aborted after a time limit in milliseconds, or when the caller's signal `outer` is aborted. `release` must be
 * called when the work has ended.
 */
export function limitOf(
  ms: number,
  clock: Clock,
  outer?: AbortSignal,
): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const follow = () => controller.abort(outer?.reason);
  const timeout = () => controller.abort(timeoutError());
  if (outer?.aborted) follow();
  else if (ms <= 0) timeout();
  outer?.addEventListener("abort", follow, { once: true });
  const cancel = clock.alarm(ms, timeout);
  return {
    signal: controller.signal,
    release() {
      cancel();
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** Returns the result of a promise, or rejects with the signal's reason if the signal is aborted first. The promise may ignore the signal. */
export function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
  });
}

export function timeoutError(): DOMException {
  return new DOMException("the time limit has passed", "TimeoutError");
}

export function isTimeoutError(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

/** Formats a duration for messages, such as `300 ms`, `12 s`, `3 min 20 s` or `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  const [whole, rest, unit] =
    minutes < 60
      ? [`${minutes} min`, seconds % 60, "s"]
      : [`${Math.floor(minutes / 60)} h`, minutes % 60, "min"];
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses a positive duration in the format of Pulumi's `customTimeouts`, such as `"90s"` or `"1h30m"`, to milliseconds. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNITS[unit] ?? Number.NaN);
  }
  return total > 0 ? total : undefined;
}
