import type { CloudInfraError } from "../diagnostics/error";
/** The result of one poll. */
export interface Sample {
  /** The time of the poll, in milliseconds since the wait began. */
  readonly atMs: number;
  /** The duration of the poll in milliseconds. Undefined for a value that was known before the first poll. */
  readonly tookMs?: number | undefined;
  /** The progress from 0 to 1. Undefined if the service doesn't report it. */
  readonly progress?: number | undefined;
}

/** The input of the schedule. */
export interface WaitSoFar {
  /** The time since the wait began, in milliseconds. */
  readonly elapsedMs: number;
  /** All polls so far, oldest first. */
  readonly samples: readonly Sample[];
  /** The minimum pause that the service requested, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** A number from 0 to 1, chosen once per wait, so that operations that started together aren't polled together. @default 0.5 */
  readonly spread?: number | undefined;
}

/** The largest change of a pause by `spread`, as a share of the pause. Pauses that end at the estimated finish don't change. */
const SPREAD = 0.2;
/** The first poll is early, because some operations are fast or fail immediately. */
const FIRST_MS = 550;
/** A jump is a pause until the estimated finish. It ends this long after the estimate, in milliseconds. */
const AFTER_FINISH_MS = 80;
/** Two estimates of the total duration agree if they differ by at most this share of the shorter one. */
const AGREEMENT = 0.06;
const MIN_PAUSE_MS = 500;
/** Without an estimate, a pause is this share of the elapsed time. */
const FRACTION = 0.2;
const MAX_FRACTION_MS = 8_000;
/** In the first seconds, the share is larger. Otherwise, half of all polls would be sent in that time. */
const EARLY_FRACTION = 0.3;
const MAX_EARLY_MS = 2_000;
/** If the estimates disagree, a pause is at least this share of the time until the earlier one. */
const DISAGREEMENT_FRACTION = 0.2;
const MAX_DISAGREEMENT_MS = 20_000;
/**
 * A jump is at most as long as the elapsed time, so that an early failure is detected early. A jump may always take a tenth of the total
 * duration, because doubling from half a second would take several polls.
 */
const SHARE_OF_TOTAL = 0.1;
const MIN_JUMP_BOUND_MS = 2_500;
const MAX_JUMP_BOUND_MS = 10_000;
const MAX_JUMP_MS = 120_000;
/** A jump ends early by this multiple of the unevenness so far, because bursts of progress look even at first. */
const CAUTION = 5;
/** With fewer distinct progress values, both estimates use the same two polls and always agree. */
const VALUES_TO_TRUST = 3;

/** Returns the milliseconds until the next poll. */
export function nextPollMs(soFar: WaitSoFar): number {
  return Math.max(pause(soFar), soFar.retryAfterMs ?? 0);
}

interface Estimate {
  /** The time until the earlier of the two estimates, in milliseconds. */
  readonly remainingMs: number;
  readonly agreed: boolean;
  /** The number of distinct progress values. */
  readonly values: number;
  /** The largest deviation from even progress so far, in milliseconds. */
  readonly unevennessMs: number;
}

/** Returns the estimated milliseconds until the operation ends, or undefined if the estimates disagree. */
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
  // A poll that is sent just before the finish reaches the service after it. With few values, the estimate starts at the 202 reply, whose
  // travel time is unknown.
  const travelMs = values < VALUES_TO_TRUST ? 0 : roundTripMs(samples);
  const afterFinish = remainingMs + AFTER_FINISH_MS - travelMs;
  const aim = afterFinish - CAUTION * unevennessMs;
  const bound = jumpBound(elapsedMs, finish, tempo);
  // A stop shortly before the finish would require another pause, which would end long after the finish.
  const jump = aim < bound + MIN_PAUSE_MS ? aim : bound;
  if (jump > fraction) return jump;
  // If the finish is uncertain, very short pauses would only add polls.
  return Math.min(Math.max(afterFinish, unevennessMs / 2, MIN_PAUSE_MS), fraction);
}

function fractionOf(elapsedMs: number): number {
  const early = Math.min(EARLY_FRACTION * elapsedMs, MAX_EARLY_MS);
  return Math.max(MIN_PAUSE_MS, early, FRACTION * elapsedMs);
}

function jumpBound(elapsedMs: number, { remainingMs, values }: Estimate, tempo: number): number {
  const share = Math.min(SHARE_OF_TOTAL * (elapsedMs + remainingMs), MAX_JUMP_BOUND_MS);
  const always = Math.max(MIN_JUMP_BOUND_MS, share) * tempo;
  return values < VALUES_TO_TRUST ? always : Math.min(Math.max(elapsedMs, always), MAX_JUMP_MS);
}

/** Returns the shortest duration of a poll. Longer durations may include a wait for the rate limit. */
function roundTripMs(samples: readonly Sample[]): number {
  const known = samples.flatMap(({ tookMs }) => tookMs ?? []);
  return known.length === 0 ? 0 : known.reduce((shortest, tookMs) => Math.min(shortest, tookMs));
}

/** Estimates the finish from the average rate and from the recent rate. The result is reliable only if both agree. */
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
  const earlier = Math.min(overall, recent);
  const later = Math.max(overall, recent);
  // A rate close to zero makes both estimates infinite, and their difference NaN.
  if (!Number.isFinite(earlier) || earlier <= elapsedMs) return undefined;
  const offTheLineMs = known.map((sample) =>
    Math.abs((sample.progress - first.progress) * msPerUnit - (sample.atMs - first.atMs)),
  );
  return {
    remainingMs: earlier - elapsedMs,
    agreed: later - earlier <= AGREEMENT * earlier,
    values: new Set(known.map(({ progress }) => progress)).size,
    unevennessMs: offTheLineMs.reduce((most, off) => Math.max(most, off), 0),
  };
}

function hasProgress(sample: Sample): sample is Sample & { readonly progress: number } {
  return sample.progress !== undefined;
}

/** Exponential backoff with full jitter, for retries of requests and of failed polls. */
export interface Backoff {
  /** The upper bound of the first pause, in milliseconds. It doubles with each failure. */
  readonly baseMs: number;
  /** The upper bound of every pause, in milliseconds. */
  readonly capMs: number;
}

/**
 * Returns the milliseconds to pause after a failure.
 *
 * @param failures the number of consecutive failures, including this one
 * @param random returns numbers from 0 to 1
 * @param floorMs the minimum that the service requested, which may exceed the cap
 */
export function pauseMs(backoff: Backoff, failures: number, random: () => number, floorMs = 0): number {
  const bound = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, failures - 1));
  const jitter = random() * bound;
  // Without jitter above the floor, all clients that received the same Retry-After would retry at the same time.
  return floorMs > 0 ? Math.max(jitter, floorMs + random() * Math.min(backoff.baseMs, bound)) : jitter;
}

/** The reason why a call waits for something other than a reply. */
export type Pause =
  | {
      readonly for: "retry";
      /** The failure of the last attempt. */
      readonly after: CloudInfraError;
      /** The time of the next attempt on the clock of the call, in milliseconds. */
      readonly at: number;
    }
  | {
      readonly for: "turn";
      /** Reports whether requests start less often than configured, because the service returned 429. */
      readonly isSlowed: () => boolean;
    };

/** Receives the pauses of a call. */
export interface PauseListener {
  /** @param pause undefined if the call continues */
  pausing(pause: Pause | undefined): void;
}
