import type { Clock } from "../polling/clock";

/** How many requests are under way at once, and how often one starts. First come, first served. */
export interface RateLimiter {
  /** Waits for a place; what it returns gives the place back. Rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<() => void>;
  /**
   * Tells how a request was answered: fewer at once and less often after 429, slowly more again afterwards.
   *
   * @param retryAfterMs how long the service wants to be left alone
   */
  recordReply(status: number, retryAfterMs?: number): void;
  /** How many may be under way now. */
  readonly maxConcurrent: number;
  /** Whether fewer requests may start than was set, because the service wants it so (429). */
  readonly isSlowed: boolean;
}

/** Requests under way at once where nothing is set. */
export const DEFAULT_CONCURRENCY = 16;

export interface RateLimiterOptions {
  /** Most requests under way at once. */
  concurrency: number;
  /** Fractions are allowed: 0.5 is one every two seconds. @default no limit */
  maxRequestsPerSecond?: number | undefined;
  clock: Clock;
}

/** A burst that was answered 429 as a whole counts as one. */
const ONE_BURST_MS = 1_000;

export function createRateLimiter({
  concurrency,
  maxRequestsPerSecond,
  clock,
}: RateLimiterOptions): RateLimiter {
  const pace = createPace(maxRequestsPerSecond, clock);
  const queue: (() => void)[] = [];
  let width = concurrency;
  let underWay = 0;
  let narrowedAt = Number.NEGATIVE_INFINITY;
  let goodSinceWider = 0;
  let pause: AbortController | undefined;

  function admit(): void {
    while (pause === undefined && underWay < width && queue.length > 0) {
      const waitMs = pace.waitMs();
      if (waitMs > 0) {
        wakeIn(waitMs);
        return;
      }
      pace.started();
      underWay++;
      queue.shift()?.();
    }
  }

  function wakeIn(ms: number): void {
    const own = new AbortController();
    pause = own;
    const wake = (): void => {
      if (pause === own) pause = undefined;
      admit();
    };
    clock.sleep(ms, own.signal).then(wake, wake);
  }

  function leave(): void {
    underWay--;
    admit();
  }

  return {
    enter(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const giveUp = () => {
          queue.splice(queue.indexOf(enter), 1);
          if (queue.length === 0) pause?.abort(); // nobody is left to be woken
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener("abort", giveUp);
          resolve(leave);
        };
        signal.addEventListener("abort", giveUp, { once: true });
        queue.push(enter);
        admit();
      });
    },
    recordReply(status, retryAfterMs) {
      if (status === 429) {
        pace.slowDown(retryAfterMs);
        goodSinceWider = 0;
        if (clock.now() - narrowedAt < ONE_BURST_MS) return;
        narrowedAt = clock.now();
        width = Math.max(1, Math.floor(width / 2));
        return;
      }
      pace.answered();
      if (status < 500 && width < concurrency && ++goodSinceWider >= width) {
        goodSinceWider = 0;
        width++;
        admit();
      }
    },
    get maxConcurrent() {
      return width;
    },
    get isSlowed() {
      return pace.isSlowed || (width < concurrency && underWay >= width);
    },
  };
}

/** How often a request may start, for a whole client. */
interface Pace {
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
function createPace(maxRequestsPerSecond: number | undefined, clock: Clock): Pace {
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
