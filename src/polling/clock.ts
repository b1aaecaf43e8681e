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

/** When something has to be over. */
export interface Deadline {
  /** On the clock that made it, in milliseconds. */
  readonly at: number;
  /** The whole allowance in milliseconds, for the message. */
  readonly ms: number;
}

/** A deadline that many milliseconds from now. */
export function deadlineIn(ms: number, clock: Clock): Deadline {
  return { at: clock.now() + ms, ms };
}

/** Milliseconds until the deadline, never negative. */
export function remainingMs(deadline: Deadline, clock: Clock): number {
  return Math.max(0, deadline.at - clock.now());
}

/** Work that ends at a deadline or when its caller gives up, whichever is first. */
export interface Limit {
  /** Aborts at the end; its reason is the caller's, or a `TimeoutError`. */
  readonly signal: AbortSignal;
  /** To be called when the work is over: gives the timer and the caller's signal back. */
  release(): void;
}

/** Starts a limit of so many milliseconds, within a caller's signal. */
export function limitOf(ms: number, clock: Clock, outer?: AbortSignal): Limit {
  const controller = new AbortController();
  const follow = () => controller.abort(outer?.reason);
  if (outer?.aborted) follow();
  outer?.addEventListener("abort", follow, { once: true });
  const timeout = () => controller.abort(timeIsUp());
  const cancel = ms > 0 ? clock.alarm(ms, timeout) : timeout;
  if (ms <= 0) timeout();
  return {
    signal: controller.signal,
    release() {
      if (ms > 0) cancel();
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** The work's end, or the signal's reason if that comes first: also ends work that ignores its signal. */
export function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** What a {@link Limit} ends with when its time has passed. */
export function timeIsUp(): DOMException {
  return new DOMException("the time is up", "TimeoutError");
}

/** Whether something ended because of {@link timeIsUp}. */
export function isTimeIsUp(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
