import type { Clock } from "./clock";

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
