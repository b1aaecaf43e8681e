import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../../src/polling/clock";
import { isDecompressing, watchDecompressions } from "./decompressions";

interface Event {
  readonly at: number;
  readonly ring: () => void;
}

/** A clock that advances to the next event when no work is left at the current time. */
export class CaseClock implements Clock {
  private time = 0;
  private readonly events = new Set<Event>();

  now(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.alarm(ms, () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  alarm(ms: number, ring: () => void): () => void {
    const event = { at: this.time + Math.max(0, ms), ring };
    this.events.add(event);
    return () => this.events.delete(event);
  }

  /**
   * Runs work that waits by this clock.
   *
   * @param latest the deadline on this clock
   * @returns whether the work ended before the deadline
   */
  async during(work: Promise<unknown>, latest: number): Promise<boolean> {
    watchDecompressions();
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    work.then(over, over);
    for (;;) {
      do for (let round = 0; round < ROUNDS && !isOver; round++) await setImmediate();
      while (isDecompressing());
      if (isOver) return true;
      if (!this.step(latest)) return false;
    }
  }

  private step(latest: number): boolean {
    let next: Event | undefined;
    for (const event of this.events) if (next === undefined || event.at < next.at) next = event;
    if (next === undefined || next.at > latest) return false;
    this.time = Math.max(this.time, next.at);
    this.events.delete(next);
    next.ring();
    return true;
  }
}

/** The service runs in this process, so everything that needs no time finishes within this number of event loop rounds. */
const ROUNDS = 2;
