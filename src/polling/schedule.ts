/** What one poll showed. */
export interface Sample {
  /** When, in milliseconds since the wait began. */
  readonly atMs: number;
  /** How long the poll took, in milliseconds; undefined for what was known without one. */
  readonly tookMs?: number | undefined;
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
  /**
   * From 0 to 1, drawn once for a wait: how much sooner or later than others it looks, so that those that began together do not look
   * together.
   *
   * @default 0.5
   */
  readonly spread?: number | undefined;
}

/** By what share, at most, a pause that is not aimed at the finish is shorter or longer for one wait than for another. */
const SPREAD = 0.2;
/** First poll: soon, for what is quick or fails at once. */
const FIRST_MS = 550;
/** A jump lands just behind the finish, not on it. */
const PAST_THE_FINISH_MS = 80;
/** Two estimates of the whole duration agree when they differ by no more than this share of the shorter. */
const AGREEMENT = 0.06;
const MIN_PAUSE_MS = 500;
/** Without an estimate: a pause as a share of what has elapsed … */
const FRACTION = 0.2;
const MAX_FRACTION_MS = 8_000;
/** … and a larger one in the first seconds, which would else take half of all polls. */
const EARLY_FRACTION = 0.3;
const MAX_EARLY_MS = 2_000;
/** With two estimates that disagree: this share of the way to the sooner finish, where that is longer. */
const DISAGREEMENT_FRACTION = 0.2;
const MAX_DISAGREEMENT_MS = 20_000;
/**
 * A jump is never longer than what has elapsed, so that an operation that fails early is noticed in proportion. But a tenth of the
 * whole may always pass, for doubling from half a second on would alone cost some polls.
 */
const SHARE_OF_THE_WHOLE = 0.1;
const MIN_JUMP_BOUND_MS = 2_500;
const MAX_JUMP_BOUND_MS = 10_000;
const MAX_JUMP_MS = 120_000;
/** By how many times the unevenness seen so far a jump falls short of the finish: bursts and steps look even for a while. */
const CAUTION = 5;
/** Fewer different values of the progress give both estimates the same two looks: no wonder that they agree. */
const VALUES_TO_TRUST = 3;

/** Decides when to poll next: pure, so that it can be simulated. */
export const PollSchedule = {
  /** Milliseconds until the next poll. */
  next(soFar: WaitSoFar): number {
    return Math.max(pause(soFar), soFar.retryAfterMs ?? 0);
  },
};

interface Estimate {
  /** Milliseconds from now to the sooner finish of the two. */
  readonly remainingMs: number;
  readonly agreed: boolean;
  /** How many different values of the progress it rests on. */
  readonly values: number;
  /** How far the progress was ever off an even one, in milliseconds of the whole. */
  readonly unevennessMs: number;
}

/** Milliseconds until the operation should be done, where two estimates of it agree; else undefined. */
export function remainingEstimateMs(soFar: WaitSoFar): number | undefined {
  const finish = estimate(soFar);
  return finish?.agreed ? finish.remainingMs : undefined;
}

function pause(soFar: WaitSoFar): number {
  const { elapsedMs, samples, spread = 0.5 } = soFar;
  const tempo = 1 + SPREAD * (2 * spread - 1);
  if (elapsedMs < FIRST_MS * tempo) return FIRST_MS * tempo;
  const fraction = Math.min(fractionOf(elapsedMs) * tempo, elapsedMs, MAX_FRACTION_MS);
  const finish = estimate(soFar);
  if (finish === undefined) return fraction;
  const { remainingMs, unevennessMs, values } = finish;
  if (!finish.agreed) {
    return Math.min(Math.max(fraction, DISAGREEMENT_FRACTION * remainingMs), elapsedMs, MAX_DISAGREEMENT_MS);
  }
  // A poll sent before the finish may still come to the service behind it. With one poll alone the estimate rests on the 202, which
  // may have been on its way for longer.
  const wayMs = values < VALUES_TO_TRUST ? 0 : roundTripMs(samples);
  const justPast = remainingMs + PAST_THE_FINISH_MS - wayMs;
  const aim = justPast - CAUTION * unevennessMs;
  const bound = jumpBound(elapsedMs, finish, tempo);
  // Stopping so shortly before the finish would need another pause, which ends well behind it.
  const jump = aim < bound + MIN_PAUSE_MS ? aim : bound;
  if (jump > fraction) return jump;
  // Near a finish that is not well known, short pauses would only add up.
  return Math.min(Math.max(justPast, unevennessMs / 2, MIN_PAUSE_MS), fraction);
}

function fractionOf(elapsedMs: number): number {
  const early = Math.min(EARLY_FRACTION * elapsedMs, MAX_EARLY_MS);
  return Math.max(MIN_PAUSE_MS, early, FRACTION * elapsedMs);
}

function jumpBound(elapsedMs: number, { remainingMs, values }: Estimate, tempo: number): number {
  const share = Math.min(SHARE_OF_THE_WHOLE * (elapsedMs + remainingMs), MAX_JUMP_BOUND_MS);
  const always = Math.max(MIN_JUMP_BOUND_MS, share) * tempo;
  return values < VALUES_TO_TRUST ? always : Math.min(Math.max(elapsedMs, always), MAX_JUMP_MS);
}

/** The quickest: others may have waited for their turn. */
function roundTripMs(samples: readonly Sample[]): number {
  const known = samples.flatMap(({ tookMs }) => tookMs ?? []);
  return known.length === 0 ? 0 : known.reduce((quickest, tookMs) => Math.min(quickest, tookMs));
}

/** The rate since the first look and the recent rate, each for itself, say when; only where they agree is it worth much. */
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
  // With a hardly measurable rate both are infinite, and their difference is no number.
  if (!Number.isFinite(sooner) || sooner <= elapsedMs) return undefined;
  const offTheLineMs = known.map((sample) =>
    Math.abs((sample.progress - first.progress) * msPerUnit - (sample.atMs - first.atMs)),
  );
  return {
    remainingMs: sooner - elapsedMs,
    agreed: later - sooner <= AGREEMENT * sooner,
    values: new Set(known.map(({ progress }) => progress)).size,
    unevennessMs: offTheLineMs.reduce((most, off) => Math.max(most, off), 0),
  };
}

function hasProgress(sample: Sample): sample is Sample & { readonly progress: number } {
  return sample.progress !== undefined;
}
