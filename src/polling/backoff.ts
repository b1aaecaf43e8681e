import type { CloudInfraError } from "../diagnostics/error";

/** Exponential backoff with full jitter, for retries of requests and of failed polls. */
export interface Backoff {
  /** Upper bound of the first pause, in milliseconds. It doubles with each failure. */
  readonly baseMs: number;
  /** Upper bound of every pause, in milliseconds. */
  readonly capMs: number;
}

/**
 * Returns the milliseconds to pause after a failure.
 *
 * @param failures number of failures in a row, including this one
 * @param random returns numbers from 0 to 1
 * @param floorMs the minimum that the service requested, which may exceed the cap
 */
export function pauseMs(backoff: Backoff, failures: number, random: () => number, floorMs = 0): number {
  const bound = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, failures - 1));
  const jitter = random() * bound;
  // Without jitter above the floor, all clients that received the same Retry-After would return at the same time.
  return floorMs > 0 ? Math.max(jitter, floorMs + random() * Math.min(backoff.baseMs, bound)) : jitter;
}

/** The reason why a call waits, other than for a reply. */
export type Pause =
  | {
      readonly for: "retry";
      /** The failure of the last attempt. */
      readonly after: CloudInfraError;
      /** Time of the next attempt on the clock of the call, in milliseconds. */
      readonly at: number;
    }
  | {
      readonly for: "turn";
      /** Whether requests start less often than configured because the service replied with 429. */
      readonly isSlowed: () => boolean;
    };

/** Receives the pauses of a call. */
export interface PauseListener {
  /** @param pause undefined if the call continues */
  pausing(pause: Pause | undefined): void;
}
