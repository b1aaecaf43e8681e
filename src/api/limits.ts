import type { Clock } from "../operations/clock";

/** How many requests are under way at once, and how often one starts. */
export interface Limits {
  /** Waits for a place; what it returns gives the place back. Rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Tells how a request was answered: fewer at once after 429, slowly more again afterwards. */
  answered(status: number): void;
  /** How many may be under way now. */
  readonly width: number;
}

export interface LimitOptions {
  /** Most requests under way at once. */
  concurrency: number;
  /** Fractions are allowed: 0.5 is one every two seconds. @default no limit */
  maxRequestsPerSecond?: number | undefined;
  clock: Clock;
}

/** A burst that was answered 429 as a whole counts as one. */
const ONE_BURST_MS = 1_000;

export function createLimits({ concurrency, maxRequestsPerSecond, clock }: LimitOptions): Limits {
  const spacingMs = maxRequestsPerSecond === undefined ? 0 : 1_000 / maxRequestsPerSecond;
  const queue: (() => void)[] = [];
  let width = concurrency;
  let underWay = 0;
  let nextStart = Number.NEGATIVE_INFINITY;
  let narrowedAt = Number.NEGATIVE_INFINITY;
  let goodSinceWider = 0;

  function admit(): void {
    while (underWay < width) {
      const next = queue.shift();
      if (next === undefined) return;
      underWay++;
      next();
    }
  }

  function leave(): void {
    underWay--;
    admit();
  }

  function place(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const giveUp = () => {
        queue.splice(queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      signal.addEventListener("abort", giveUp, { once: true });
      queue.push(enter);
      admit();
    });
  }

  async function turn(signal: AbortSignal): Promise<void> {
    const waitMs = Math.max(0, nextStart - clock.now());
    nextStart = clock.now() + waitMs + spacingMs;
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }

  return {
    async enter(signal) {
      await place(signal);
      try {
        await turn(signal);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    answered(status) {
      if (status === 429) {
        goodSinceWider = 0;
        if (clock.now() - narrowedAt < ONE_BURST_MS) return;
        narrowedAt = clock.now();
        width = Math.max(1, Math.floor(width / 2));
      } else if (status < 500 && width < concurrency && ++goodSinceWider >= width) {
        goodSinceWider = 0;
        width++;
        admit();
      }
    },
    get width() {
      return width;
    },
  };
}
