/** What one poll showed. */
export interface Sample {
  /** When, in milliseconds since the wait began. */
  readonly atMs: number;
  /** From 0 to 1; undefined where the service does not tell. */
  readonly progress?: number | undefined;
}

/** What the schedule knows when it decides. */
export interface WaitSoFar {
  /** Milliseconds since the wait began. */
  readonly elapsedMs: number;
  /** Every poll so far, oldest first. */
  readonly samples: readonly Sample[];
  /** The service's own wish, in milliseconds: a floor. */
  readonly retryAfterMs?: number | undefined;
}

const FIRST_MS = 400;
const PAST_THE_FINISH_MS = 80;
const AGREEMENT = 0.06;
const FRACTION = 0.2;
const SHORTEST_MS = 250;
const LONGEST_FRACTION_MS = 10_000;
const LONGEST_JUMP_MS = 120_000;

/** Decides when to poll next: pure, so that it can be simulated. */
export const PollSchedule = {
  /** Milliseconds until the next poll. */
  next({ elapsedMs, samples, retryAfterMs = 0 }: WaitSoFar): number {
    return Math.max(pause(elapsedMs, samples), retryAfterMs);
  },
};

/** Milliseconds until the operation should be done, where two estimates of it agree; else undefined. */
export function remainingEstimateMs({ elapsedMs, samples }: WaitSoFar): number | undefined {
  const known = samples.filter(hasProgress);
  const last = known.at(-1);
  const before = known.findLast((sample) => last !== undefined && sample.progress < last.progress);
  if (last === undefined || before === undefined || last.progress <= 0) return undefined;
  const overall = last.atMs / last.progress;
  const recent =
    last.atMs + ((1 - last.progress) * (last.atMs - before.atMs)) / (last.progress - before.progress);
  if (Math.abs(overall - recent) > AGREEMENT * Math.max(overall, recent)) return undefined;
  return Math.max(0, Math.max(overall, recent) - elapsedMs);
}

function pause(elapsedMs: number, samples: readonly Sample[]): number {
  if (elapsedMs < FIRST_MS) return FIRST_MS;
  const remaining = remainingEstimateMs({ elapsedMs, samples });
  if (remaining !== undefined && remaining > 0) {
    return Math.min(remaining + PAST_THE_FINISH_MS, elapsedMs, LONGEST_JUMP_MS);
  }
  return Math.min(Math.max(SHORTEST_MS, FRACTION * elapsedMs), LONGEST_FRACTION_MS, elapsedMs);
}

function hasProgress(sample: Sample): sample is Sample & { readonly progress: number } {
  return sample.progress !== undefined;
}
