import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/polling/clock";

interface Event {
  readonly at: number;
  readonly fire: () => void;
}

/**
 * A clock whose time passes only in {@link advance} or, with `{ auto: true }`, after each call of `sleep` and one turn of the event loop.
 * Alarms don't advance it, so that a reply over a real loopback socket takes no time.
 */
export class FakeClock implements Clock {
  /** Durations of all sleeps so far, in milliseconds. */
  readonly sleeps: number[] = [];
  #now = 0;
  #sleepers = new Set<Event>();
  #alarms = new Set<Event>();
  readonly #auto: boolean;

  constructor(options: { auto?: boolean } = {}) {
    this.#auto = options.auto ?? false;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      this.sleeps.push(ms);
      const stop = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const fire = () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const sleeper = { at: this.#now + ms, fire };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", stop, { once: true });
      // Each call wakes the next sleeper, so that every sleeper is woken eventually.
      if (this.#auto) globalThis.setImmediate(() => this.#moveTo(this.#next(this.#sleepers)?.at));
    });
  }

  alarm(ms: number, ring: () => void): () => void {
    const event = { at: this.#now + ms, fire: ring };
    this.#alarms.add(event);
    return () => this.#alarms.delete(event);
  }

  /** Lets time pass. Work that a sleeper continues runs before the next sleeper wakes. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const next = this.#next([...this.#sleepers, ...this.#alarms]);
      if (next === undefined || next.at > end) break;
      this.#moveTo(next.at);
      await settled();
    }
    this.#now = Math.max(this.#now, end);
  }

  /** Number of current sleepers. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Fires the events until then in their order. */
  #moveTo(at = this.#now): void {
    for (;;) {
      const next = this.#next([...this.#sleepers, ...this.#alarms]);
      if (next === undefined || next.at > Math.max(this.#now, at)) break;
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers.delete(next);
      this.#alarms.delete(next);
      next.fire();
    }
    this.#now = Math.max(this.#now, at);
  }

  #next(events: Iterable<Event>): Event | undefined {
    return [...events].sort((a, b) => a.at - b.at)[0];
  }
}

/** Waits until all work that needs no time has run. */
async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await setImmediate();
}
