import type { CloudInfraError } from "../diagnostics/error";

export interface Sample {
  /** The time of the poll, in milliseconds since the wait began. */
  readonly atMs: number;
  /** The duration of the poll in milliseconds, or `undefined` for progress that was known before the first poll. */
  readonly tookMs?: number | undefined;
  readonly progress?: number | undefined;
}

/** The history of a wait, which determines the next pause. */
export interface WaitSoFar {
  readonly elapsedMs: number;
  readonly samples: readonly Sample[];
  readonly retryAfterMs?: number | undefined;
  /** A random number from 0 to 1, chosen once per wait, so that concurrent operations are polled at different times. @default 0.5 */
  readonly spread?: number | undefined;
}

/** The maximum effect of `spread`, as a share of the pause. Pauses that end at the estimated finish don't change. */
const SPREAD = 0.2;
/** The first pause in milliseconds. The first poll is early, because some operations end or fail immediately. */
const FIRST_MS = 550;
/** A jump is a pause that ends this many milliseconds after the estimated finish. */
const AFTER_FINISH_MS = 80;
/** The maximum difference between two estimates that agree, as a share of the shorter estimate. */
const AGREEMENT = 0.06;
const MIN_PAUSE_MS = 500;
/** The length of a pause without an estimate, as a share of the elapsed time. */
const FRACTION = 0.2;
const MAX_FRACTION_MS = 8_000;
/** The share for the first seconds of a wait. With the usual share, half of all polls would be sent in the first seconds. */
const EARLY_FRACTION = 0.3;
const MAX_EARLY_MS = 2_000;
/** The minimum pause if the estimates disagree, as a share of the time until the earlier estimate. */
const DISAGREEMENT_FRACTION = 0.2;
const MAX_DISAGREEMENT_MS = 20_000;
/**
 * The maximum length of a jump, as a share of the estimated total duration. If more time has already elapsed, longer jumps are possible.
 * Early jumps are short, so that an early failure is detected quickly.
 */
const SHARE_OF_TOTAL = 0.1;
const MIN_JUMP_BOUND_MS = 2_500;
const MAX_JUMP_BOUND_MS = 10_000;
const MAX_JUMP_MS = 120_000;
/** A jump ends early by this multiple of the measured unevenness, because progress in bursts seems to be even at first. */
const CAUTION = 5;
/** The minimum number of distinct progress values. With fewer values, both estimates use the same two polls and always agree. */
const VALUES_TO_TRUST = 3;

export function nextPollMs(soFar: WaitSoFar): number {
  return Math.max(pause(soFar), soFar.retryAfterMs ?? 0);
}

type Estimate = NonNullable<ReturnType<typeof estimate>>;

/** Returns the estimated remaining time in milliseconds, or `undefined` if the estimates disagree. */
export function remainingEstimateMs(soFar: WaitSoFar): number | undefined {
  const finish = estimate(soFar);
  return finish?.agreed ? finish.remainingMs : undefined;
}

function pause(soFar: WaitSoFar): number {
  const { elapsedMs, samples, spread = 0.5 } = soFar;
  const tempo = 1 + SPREAD * (2 * spread - 1);
  if (elapsedMs < FIRST_MS * tempo) return FIRST_MS * tempo;
  const early = Math.min(EARLY_FRACTION * elapsedMs, MAX_EARLY_MS);
  const share = Math.max(MIN_PAUSE_MS, early, FRACTION * elapsedMs);
  const fraction = Math.min(share * tempo, elapsedMs, MAX_FRACTION_MS);
  const finish = estimate(soFar);
  if (finish === undefined) return fraction;
  const { remainingMs, unevennessMs, values } = finish;
  if (!finish.agreed) {
    return Math.min(Math.max(fraction, DISAGREEMENT_FRACTION * remainingMs), elapsedMs, MAX_DISAGREEMENT_MS);
  }
  // The pause ends early by the next poll's travel time. With few values, the estimate depends on the 202 reply with an unknown travel time.
  // The shortest poll counts, because longer polls may include a wait for the rate limit.
  const polls = samples.flatMap(({ tookMs }) => tookMs ?? []);
  const travelMs = values < VALUES_TO_TRUST || polls.length === 0 ? 0 : Math.min(...polls);
  const afterFinish = remainingMs + AFTER_FINISH_MS - travelMs;
  const aim = afterFinish - CAUTION * unevennessMs;
  const bound = jumpBound(elapsedMs, finish, tempo);
  // If a jump ended shortly before the finish, the next pause would end long after the finish.
  const jump = aim < bound + MIN_PAUSE_MS ? aim : bound;
  if (jump > fraction) return jump;
  // If the finish is uncertain, very short pauses would only cause additional polls.
  return Math.min(Math.max(afterFinish, unevennessMs / 2, MIN_PAUSE_MS), fraction);
}

function jumpBound(elapsedMs: number, { remainingMs, values }: Estimate, tempo: number): number {
  const share = Math.min(SHARE_OF_TOTAL * (elapsedMs + remainingMs), MAX_JUMP_BOUND_MS);
  const always = Math.max(MIN_JUMP_BOUND_MS, share) * tempo;
  return values < VALUES_TO_TRUST ? always : Math.min(Math.max(elapsedMs, always), MAX_JUMP_MS);
}

/** Estimates the finish from the average rate and the recent rate. The estimate is reliable if both rates give similar results. */
function estimate({ elapsedMs, samples }: WaitSoFar) {
  const known = samples.flatMap(({ atMs, progress }) => (progress === undefined ? [] : { atMs, progress }));
  const first = known[0];
  const last = known.at(-1);
  if (first === undefined || last === undefined || last.progress <= first.progress || last.progress >= 1)
    return undefined;
  const before = known.findLast((sample) => sample.progress < last.progress) ?? first;
  const msPerUnit = (last.atMs - first.atMs) / (last.progress - first.progress);
  const recentMsPerUnit = (last.atMs - before.atMs) / (last.progress - before.progress);
  const overall = last.atMs + (1 - last.progress) * msPerUnit;
  const recent = last.atMs + (1 - last.progress) * recentMsPerUnit;
  const earlier = Math.min(overall, recent);
  const later = Math.max(overall, recent);
  // If the rate of progress is close to zero, both estimates are infinite.
  if (!Number.isFinite(earlier) || earlier <= elapsedMs) return undefined;
  const offTheLineMs = known.map((sample) =>
    Math.abs((sample.progress - first.progress) * msPerUnit - (sample.atMs - first.atMs)),
  );
  return {
    remainingMs: earlier - elapsedMs,
    agreed: later - earlier <= AGREEMENT * earlier,
    /** The number of distinct progress values so far. */
    values: new Set(known.map(({ progress }) => progress)).size,
    /** The largest deviation from linear progress so far, in milliseconds. */
    unevennessMs: Math.max(...offTheLineMs),
  };
}

/** Exponential backoff with full jitter, for retries of requests and of failed polls. */
export interface Backoff {
  /** The upper bound of the first pause, in milliseconds. Each further failure doubles the bound. */
  readonly baseMs: number;
  /** The upper bound of every pause, in milliseconds. */
  readonly capMs: number;
}

/**
 * Returns the pause after a failure, in milliseconds.
 *
 * @param failures the number of consecutive failures, including this one
 * @param random returns numbers from 0 to 1
 * @param floorMs the minimum pause that the service requested, which may exceed the cap
 */
export function pauseMs(backoff: Backoff, failures: number, random: () => number, floorMs = 0): number {
  const bound = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, failures - 1));
  const jitter = random() * bound;
  // Jitter is added to Retry-After. Otherwise, all clients that received the same value would retry at the same time.
  return floorMs > 0 ? Math.max(jitter, floorMs + random() * Math.min(backoff.baseMs, bound)) : jitter;
}

export type Pause =
  | {
      readonly for: "retry";
      readonly after: CloudInfraError;
      /** The time of the next attempt on the clock of the call, in milliseconds. */
      readonly at: number;
    }
  | {
      readonly for: "turn";
      /** Reports whether requests are sent more slowly than configured, because the service returned 429. */
      readonly isSlowed: () => boolean;
    };

export interface PauseListener {
  /** @param pause undefined if the call continues */
  pausing(pause: Pause | undefined): void;
}
