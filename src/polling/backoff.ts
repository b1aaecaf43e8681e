import type { CloudInfraError } from "../diagnostics/error";

/** Exponential backoff with full jitter, shared by request retries and by the wait loop's failing polls. */
export interface Backoff {
  /** Upper bound of the first pause, in milliseconds; it doubles from try to try. */
  readonly baseMs: number;
  /** Upper bound of every pause, in milliseconds. */
  readonly capMs: number;
}

/**
 * How long to pause after the given number of failures in a row.
 *
 * @param failures 1 after the first failure
 * @param floorMs what the service asked for; a floor, also where it is longer than the cap
 */
export function pauseMs(backoff: Backoff, failures: number, random: () => number, floorMs = 0): number {
  const bound = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, failures - 1));
  const jitter = random() * bound;
  // Spread above the floor too: all who were sent away together would come back together.
  return floorMs > 0 ? Math.max(jitter, floorMs + random() * Math.min(backoff.baseMs, bound)) : jitter;
}

/** What a call waits for that is not the service's answer. */
export type Pause =
  | {
      readonly for: "next try";
      /** How the last one failed. */
      readonly after: CloudInfraError;
      /** When it comes, in milliseconds on the clock that is used. */
      readonly at: number;
    }
  | {
      readonly for: "turn";
      /** Whether fewer requests may start than else, because the service wants it so (429). */
      readonly isSlowed: () => boolean;
    };

/** Told what a call waits for. */
export interface PauseListener {
  /** @param pause undefined: the call goes on */
  pausing(pause: Pause | undefined): void;
}
