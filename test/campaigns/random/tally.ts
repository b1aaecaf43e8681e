import type { Spoiling } from "./spoiling";

export type Verb = "check" | "diff" | "create" | "read" | "update" | "delete" | "list";

/** How calls of one kind ended. */
export interface Ends {
  calls: number;
  succeeded: number;
  /** Failed, and said so. */
  refused: number;
  /** Failed, and left in the state what the next run needs. */
  kept: number;
  /** Longest by the case's clock, in milliseconds. */
  longestMs: number;
}

/** What all cases of a campaign came to. */
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
