import type { Clock } from "../operations/clock";

/** How often a request may start, for a whole client. */
export interface Pace {
  /** Milliseconds until the next one may start. */
  waitMs(): number;
  /** One starts now. */
  started(): void;
  /** One was answered, but not with 429. */
  answered(): void;
  /** The service wants fewer (429): all are slowed down. @param retryAfterMs how long it wants to be left alone */
  slowDown(retryAfterMs?: number): void;
  /** Whether it is slower than set. */
  readonly isSlowed: boolean;
}

/** A second of requests that were answered 429 counts as one. */
const SLOWDOWN_INTERVAL_MS = 1_000;
/** After 429 this part of what was answered in the second before may start; */
const DECREASE = 0.7;
/** then faster by this part after one calm second, by twice as much after the next, and so on: first with care, soon as before. */
const INCREASE = 0.03;
/** No slower than this because of 429, in requests a second. */
const MIN_RATE = 0.1;
/** What is taken to have been answered in the last second where nothing was: after the first 429 two requests a second are left. */
const ASSUMED_RATE = 2 / DECREASE;
/** From here on as if nothing had been. */
const UNLIMITED_RATE = 1_000;
/** The longest, in milliseconds, that all wait because one was told to: it may have been meant for that one only. */
const MAX_HOLD_MS = 30_000;

/** @param maxRequestsPerSecond fractions are allowed: 0.5 is one every two seconds */
export function createPace(maxRequestsPerSecond: number | undefined, clock: Clock): Pace {
  const most = maxRequestsPerSecond ?? Number.POSITIVE_INFINITY;
  const answers = countEachSecond(clock);
  let rate = most;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let calmSeconds = 0;
  let nextStart = Number.NEGATIVE_INFINITY;
  let isAwaited = false;

  function recover(): void {
    while (rate < most && clock.now() - slowedAt >= (calmSeconds + 1) * 1_000) {
      calmSeconds += 1;
      rate = Math.min(most, rate * (1 + INCREASE * calmSeconds));
      if (rate > UNLIMITED_RATE) rate = most;
    }
  }

  return {
    waitMs() {
      const waitMs = Math.max(0, nextStart - clock.now());
      isAwaited ||= waitMs > 0;
      return waitMs;
    },
    started() {
      recover();
      const spacingMs = 1_000 / rate;
      // Timers ring late: without making up for it, the pace would be slower than set.
      const from = isAwaited ? Math.max(nextStart, clock.now() - spacingMs) : clock.now();
      nextStart = from + spacingMs;
      isAwaited = false;
    },
    answered: () => answers.add(),
    slowDown(retryAfterMs = 0) {
      const now = clock.now();
      const holdMs = Math.min(retryAfterMs, MAX_HOLD_MS);
      nextStart = Math.max(nextStart, now + holdMs);
      if (now - slowedAt < SLOWDOWN_INTERVAL_MS) return;
      recover();
      rate = Math.min(
        most,
        Math.max(MIN_RATE, DECREASE * Math.min(rate, answers.lastSecond() || ASSUMED_RATE)),
      );
      slowedAt = now + holdMs;
      calmSeconds = 0;
      nextStart = Math.max(nextStart, now + 1_000 / rate);
    },
    get isSlowed() {
      recover();
      return rate < most;
    },
  };
}

/** Counts what happens, about as of the last second. */
function countEachSecond(clock: Clock): { add(): void; lastSecond(): number } {
  let begun = clock.now();
  let before = 0;
  let count = 0;
  function move(): void {
    const seconds = Math.floor((clock.now() - begun) / 1_000);
    if (seconds === 0) return;
    before = seconds === 1 ? count : 0;
    count = 0;
    begun += seconds * 1_000;
  }
  return {
    add() {
      move();
      count += 1;
    },
    lastSecond() {
      move();
      return count + before * (1 - (clock.now() - begun) / 1_000);
    },
  };
}
