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

/** First poll: soon, for what is quick or fails at once. */
const FIRST_MS = 400;
/** A jump lands just behind the finish, not on it. */
const PAST_THE_FINISH_MS = 80;
/** Two estimates of the whole duration agree when they differ by no more than this share of the shorter. */
const AGREEMENT = 0.06;
/** Without an estimate: a pause as a share of what has elapsed, between these bounds. */
const FRACTION = 0.2;
const SHORTEST_MS = 250;
const LONGEST_FRACTION_MS = 9_000;
/**
 * A jump is never longer than what has elapsed, so that an operation that fails early is noticed in proportion; but up to three seconds
 * always, for doubling from 0.4 s on would alone cost three polls.
 */
const SHORTEST_JUMP_BOUND_MS = 3_000;
const LONGEST_JUMP_MS = 120_000;
/** By how many times the unevenness seen so far a jump falls short of the finish: bursts and steps look even for a while. */
const CAUTION = 3;

/** Decides when to poll next: pure, so that it can be simulated. */
export const PollSchedule = {
  /** Milliseconds until the next poll. */
  next(soFar: WaitSoFar): number {
    return Math.max(pause(soFar), soFar.retryAfterMs ?? 0);
  },
};

interface Estimate {
  /** Milliseconds from now to the finish. */
  readonly remainingMs: number;
  /** How far the progress was ever off an even one, in milliseconds of the whole. */
  readonly unevennessMs: number;
}

/** Milliseconds until the operation should be done, where two estimates of it agree; else undefined. */
export function remainingEstimateMs(soFar: WaitSoFar): number | undefined {
  return estimate(soFar)?.remainingMs;
}

function pause(soFar: WaitSoFar): number {
  const { elapsedMs } = soFar;
  if (elapsedMs < FIRST_MS) return FIRST_MS;
  const fraction = Math.min(Math.max(SHORTEST_MS, FRACTION * elapsedMs), LONGEST_FRACTION_MS, elapsedMs);
  const finish = estimate(soFar);
  if (finish === undefined) return fraction;
  const justPast = finish.remainingMs + PAST_THE_FINISH_MS;
  const bound = Math.min(Math.max(elapsedMs, SHORTEST_JUMP_BOUND_MS), LONGEST_JUMP_MS);
  const jump = Math.min(justPast - CAUTION * finish.unevennessMs, bound);
  if (jump > fraction) return jump;
  // Near a finish that is not well known, short pauses would only add up.
  return Math.min(Math.max(justPast, finish.unevennessMs / 2, SHORTEST_MS), fraction);
}

/** The rate since the first look and the recent rate, each for itself, say when; only where they agree is it worth anything. */
function estimate({ elapsedMs, samples }: WaitSoFar): Estimate | undefined {
  const known = samples.filter(hasProgress);
  const first = known[0];
  const last = known.at(-1);
  if (first === undefined || last === undefined || last.progress <= first.progress || last.progress >= 1)
    return undefined;
  const before = known.findLast((sample) => sample.progress < last.progress) ?? first;
  const msPerUnit = (last.atMs - first.atMs) / (last.progress - first.progress);
  const recentMsPerUnit = (last.atMs - before.atMs) / (last.progress - before.progress);
  const overall = last.atMs + (1 - last.progress) * msPerUnit;
  const recent = last.atMs + (1 - last.progress) * recentMsPerUnit;
  const sooner = Math.min(overall, recent);
  const later = Math.max(overall, recent);
  // Not the other way round: with a hardly measurable rate both are infinite, and their difference is no number.
  const agree = later - sooner <= AGREEMENT * sooner;
  if (!agree || sooner <= elapsedMs) return undefined;
  const offTheLineMs = known.map((sample) =>
    Math.abs((sample.progress - first.progress) * msPerUnit - (sample.atMs - first.atMs)),
  );
  return {
    remainingMs: sooner - elapsedMs,
    unevennessMs: offTheLineMs.reduce((most, off) => Math.max(most, off), 0),
  };
}

function hasProgress(sample: Sample): sample is Sample & { readonly progress: number } {
  return sample.progress !== undefined;
}
