import type { Clock } from "../operations/clock";
import { createPace } from "./pace";

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
