import type { Clock } from "../operations/clock";

/** Spaces the retries of a whole client, so that a dying service is not hammered by all its requests at once. */
export interface RetryBudget {
  /** Milliseconds until one more retry may start; reserves it. */
  reserve(): number;
}

export interface RetryBudgetOptions {
  /** So many retries may start without being spaced. */
  burst: number;
  /** So many more each second. */
  perSecond: number;
}

/** A token bucket whose tokens can be promised ahead: a retry is put off, never refused, when the bucket is empty. */
export function createRetryBudget({ burst, perSecond }: RetryBudgetOptions, clock: Clock): RetryBudget {
  let tokens = burst;
  let countedAt = clock.now();
  return {
    reserve() {
      const now = clock.now();
      tokens = Math.min(burst, tokens + ((now - countedAt) / 1_000) * perSecond) - 1;
      countedAt = now;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1_000;
    },
  };
}
