import { randomFrom } from "./random";
import { type Progress, type ShapeName, shapes } from "./shapes";
import type { Look } from "./waiter";

/** What kind of operation a cell of the tables is about. */
export interface Kind {
  readonly name: string;
  readonly shape: ShapeName;
  /** It fails at a random moment in this first share of its time. */
  readonly failsWithin?: number;
  /** Seconds that the service asks for with each poll of an unfinished operation. */
  readonly retryAfter?: number;
}

/** One operation at the service. Times are milliseconds since it began. */
export interface PlannedOperation {
  readonly endsAt: number;
  look(at: number): Look;
}

/** Durations vary by so much in either direction. */
const SPREAD = 0.2;
/** Progress is told in thousandths, as by the emulator, and is never whole before the end. */
const GRAIN = 1_000;

/** How many operations are drawn, and from which random numbers. */
export interface Sampling {
  readonly samples: number;
  readonly seed: number;
}

/**
 * The operation with that number: of the same length in each kind, so that kinds can be compared. Each is drawn from a stratum of its
 * own, so that a few hundred stand for all lengths alike.
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
