import { randomFrom } from "./random";
import { type Progress, type ShapeName, shapes } from "./shapes";
import type { Look } from "./waiter";

/** The kind of operation in one cell of the tables. */
export interface Kind {
  readonly name: string;
  readonly shape: ShapeName;
  /** The operation fails at a random moment in this first share of its duration. */
  readonly failsWithin?: number;
  /** Retry-After of each poll of an unfinished operation, in seconds. */
  readonly retryAfter?: number;
}

/** One operation at the service. Times are in milliseconds since its start. */
export interface PlannedOperation {
  readonly endsAt: number;
  look(at: number): Look;
}

/** Durations vary by this share in both directions. */
const SPREAD = 0.2;
/** Progress is reported in thousandths, as by the emulator, and never reaches 100% before the end. */
const GRAIN = 1_000;

/** The number of operations, and the seed for their random numbers. */
export interface Sampling {
  readonly samples: number;
  readonly seed: number;
}

/**
 * Plans the operation with this number. Its duration is the same for each kind, so that kinds can be compared. The
 * durations are drawn from equal strata, so that a few hundred operations cover the whole range evenly.
 */
export function planOperation(
  kind: Kind,
  seconds: number,
  number: number,
  { samples, seed }: Sampling,
): PlannedOperation {
  const random = randomFrom(seed, seconds, number);
  const durationMs = seconds * 1_000 * (1 + SPREAD * ((2 * (number + random())) / samples - 1));
  const failure = kind.failsWithin;
  const endsAt = failure === undefined ? durationMs : durationMs * failure * random();
  const progressAt: Progress = shapes[kind.shape](random);
  return {
    endsAt,
    look(at) {
      if (at >= endsAt) return { state: failure === undefined ? "done" : "failed" };
      const progress = progressAt(Math.max(0, at) / durationMs);
      const told =
        progress === undefined ? undefined : Math.min(Math.round(progress * GRAIN), GRAIN - 1) / GRAIN;
      return { state: "running", progress: told, retryAfter: kind.retryAfter };
    },
  };
}
