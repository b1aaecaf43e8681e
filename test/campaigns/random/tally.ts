import type { Spoiling } from "./spoiling";

export type Verb = "check" | "diff" | "create" | "read" | "update" | "delete" | "list";

/** The results of calls of one kind. */
export interface Ends {
  calls: number;
  succeeded: number;
  /** Failed calls that saved nothing. */
  refused: number;
  /** Failed calls that saved in the state what the next run needs. */
  kept: number;
  /** The longest call on the case's clock, in milliseconds. */
  longestMs: number;
}

/** The results of all cases of a campaign. */
export class Tally {
  readonly calls = new Map<Verb, Ends>();
  readonly spoiled = new Map<Spoiling["kind"], number>();
  readonly damages = new Map<string, number>();
  readonly codes = new Map<string, number>();
  cases = 0;
  requests = 0;

  ended(verb: Verb, how: "succeeded" | "refused" | "kept", ms: number): void {
    const ends = this.calls.get(verb) ?? { calls: 0, succeeded: 0, refused: 0, kept: 0, longestMs: 0 };
    ends.calls += 1;
    ends[how] += 1;
    ends.longestMs = Math.max(ends.longestMs, ms);
    this.calls.set(verb, ends);
  }
}

export function countOne<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
