import { CloudInfraError } from "../diagnostics/error";
import type { Clock } from "../polling/clock";

export const DEFAULT_CONCURRENCY = 16;

export interface RateLimits {
  /** The maximum number of concurrent requests. @default 16 */
  concurrency?: number | undefined;
  /** The maximum number of requests that start per second. For example, 0.5 means one request every two seconds. @default no limit */
  maxRequestsPerSecond?: number | undefined;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Limits the number of concurrent requests and the rate of new requests of a client. Requests start in the order of the calls.
 *
 * @throws CloudInfraError `config_invalid` if `concurrency` is invalid
 */
export function createRateLimiter({
  concurrency = DEFAULT_CONCURRENCY,
  maxRequestsPerSecond,
  clock,
}: RateLimits & { clock: Clock }) {
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new CloudInfraError(
      "config_invalid",
      "cloudinfra:concurrency must be a whole number greater than zero",
    );
  const pace = createPace(maxRequestsPerSecond, clock);
  const queue: (() => void)[] = [];
  let running = 0;
  let pause: AbortController | undefined;

  function admit(): void {
    while (pause === undefined && running < concurrency && queue.length > 0) {
      const waitMs = pace.waitMs();
      if (waitMs > 0) {
        pause = new AbortController();
        const wake = (): void => {
          pause = undefined;
          admit();
        };
        clock.sleep(waitMs, pause.signal).then(wake, wake);
        return;
      }
      pace.recordStart();
      running++;
      queue.shift()?.();
    }
  }

  return {
    /** Waits until a request may start. Resolves to a function that frees the slot. Rejects with the signal's reason. */
    enter(signal: AbortSignal): Promise<() => void> {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const giveUp = () => {
          queue.splice(queue.indexOf(enter), 1);
          if (queue.length === 0) pause?.abort(); // a timer that no request needs would keep the process alive
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener("abort", giveUp);
          resolve(() => {
            running--;
            admit();
          });
        };
        signal.addEventListener("abort", giveUp, { once: true });
        queue.push(enter);
        admit();
      });
    },
    recordReply: pace.recordReply,
    /** Reports whether requests start less often than configured, because the service has returned 429. */
    isSlowed: pace.isSlowed,
  };
}

/** The interval in which several 429s lower the rate only once, because they belong to the same burst. */
const SLOWDOWN_INTERVAL_MS = 1_000;
/** The new rate after a 429, as a share of the number of requests that the service accepted in the last second. */
const DECREASE = 0.7;
/** The growth of the rate per second without a 429. The growth is 3% after the first second, 6% after the second, and so on. */
const INCREASE = 0.03;
/** The lowest rate after 429s, in requests per second. */
const MIN_RATE = 0.1;
/** The assumed number of accepted requests if the first reply is a 429. Two requests per second may then start. */
const ASSUMED_RATE = 2 / DECREASE;
/** The rate at which the limit is removed, because a higher limit would have no effect. */
const UNLIMITED_RATE = 1_000;
/** The maximum pause of all requests after a Retry-After. A longer pause may be meant for a single request. */
const MAX_HOLD_MS = 30_000;

/** Calculates when the next request of a client may start. */
function createPace(maxRequestsPerSecond: number | undefined, clock: Clock) {
  const maxRate = maxRequestsPerSecond ?? Number.POSITIVE_INFINITY;
  const accepted = countPerSecond(clock);
  let rate = maxRate;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let calmSeconds = 0;
  let nextStart = Number.NEGATIVE_INFINITY;
  let isAwaited = false;

  function recover(): void {
    while (rate < maxRate && clock.now() - slowedAt >= (calmSeconds + 1) * 1_000) {
      calmSeconds += 1;
      rate = Math.min(maxRate, rate * (1 + INCREASE * calmSeconds));
      if (rate > UNLIMITED_RATE) rate = maxRate;
    }
  }

  return {
    /** Returns the milliseconds until the next request may start. */
    waitMs() {
      const waitMs = Math.max(0, nextStart - clock.now());
      isAwaited ||= waitMs > 0;
      return waitMs;
    },
    recordStart() {
      recover();
      const spacingMs = 1_000 / rate;
      // Timers fire late, so the next start is calculated from the planned start. Otherwise, the average rate would be too low.
      const from = isAwaited ? Math.max(nextStart, clock.now() - spacingMs) : clock.now();
      nextStart = from + spacingMs;
      isAwaited = false;
    },
    /** Adapts the rate to a reply. A 429 lowers the rate, which then recovers until the next 429. */
    recordReply(reply: { readonly status: number; readonly retryAfterMs?: number | undefined }): void {
      const { status, retryAfterMs = 0 } = reply;
      if (status !== 429) {
        accepted.add();
        return;
      }
      const now = clock.now();
      const holdMs = Math.min(retryAfterMs, MAX_HOLD_MS);
      nextStart = Math.max(nextStart, now + holdMs);
      if (now - slowedAt < SLOWDOWN_INTERVAL_MS) return;
      recover();
      const sustained = DECREASE * Math.min(rate, accepted.lastSecond() || ASSUMED_RATE);
      rate = Math.min(maxRate, Math.max(MIN_RATE, sustained));
      slowedAt = now + holdMs;
      calmSeconds = 0;
      nextStart = Math.max(nextStart, now + 1_000 / rate);
    },
    isSlowed(): boolean {
      recover();
      return rate < maxRate;
    },
  };
}

/** Estimates the number of events in the last second from the counts of the current and the previous second. */
function countPerSecond(clock: Clock) {
  let secondStart = clock.now();
  let previous = 0;
  let current = 0;
  function move(): void {
    const seconds = Math.floor((clock.now() - secondStart) / 1_000);
    if (seconds === 0) return;
    previous = seconds === 1 ? current : 0;
    current = 0;
    secondStart += seconds * 1_000;
  }
  return {
    add() {
      move();
      current += 1;
    },
    lastSecond() {
      move();
      return current + previous * (1 - (clock.now() - secondStart) / 1_000);
    },
  };
}

/**
 * Parses the Retry-After header, which contains seconds or an HTTP date, to milliseconds. Compares the date with the Date header, not the
 * local clock.
 */
export function parseRetryAfter(header: (name: string) => string | undefined): number | undefined {
  const text = header("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) {
    const ms = Number(text) * 1_000;
    return Number.isFinite(ms) ? ms : undefined;
  }
  // `Date.parse` also accepts "-5" and "12 apples". An HTTP date begins with the name of a weekday.
  if (!/^[a-z]{3,9},? /i.test(text)) return undefined;
  const at = parseHttpDate(text);
  const now = parseHttpDate(header("date")?.trim() ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/** Parses an HTTP date. A date in asctime format (`Sun Nov 6 08:49:37 1994`) has no time zone but is in UTC. */
function parseHttpDate(text: string): number {
  return Date.parse(/^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i.test(text) ? `${text} GMT` : text);
}

/** The number of retries that may start without a delay. */
const RETRY_BURST = 100;
/** The number of additional retries per second. */
const RETRIES_PER_SECOND = 10;

/**
 * Creates the retry budget of a client, so that many failing requests don't overload the service. An exhausted budget delays a retry, but
 * never prevents it.
 *
 * @returns a function that reserves one retry, and returns the milliseconds until it may start
 */
export function createRetryBudget(clock: Clock): () => number {
  let tokens = RETRY_BURST;
  let countedAt = clock.now();
  return () => {
    const now = clock.now();
    tokens = Math.min(RETRY_BURST, tokens + ((now - countedAt) / 1_000) * RETRIES_PER_SECOND) - 1;
    countedAt = now;
    return tokens >= 0 ? 0 : (-tokens / RETRIES_PER_SECOND) * 1_000;
  };
}
