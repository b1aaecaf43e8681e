import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/polling/clock";

interface Event {
  readonly at: number;
  readonly fire: () => void;
}

/**
 * A clock that only moves when told: by {@link advance}, or with `{ auto: true }` by sleeping, as soon as somebody sleeps and the event
 * loop has gone round. Alarms (limits) never move it: a reply over a real loopback socket takes no time on it.
 */
export class FakeClock implements Clock {
  /** Lengths of all sleeps asked for so far, in milliseconds. */
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
      // Whoever is next is woken, and so all are in the end: for each who sleeps somebody is woken once.
      if (this.#auto) globalThis.setImmediate(() => this.#moveTo(this.#next(this.#sleepers)?.at));
    });
  }

  alarm(ms: number, ring: () => void): () => void {
    const event = { at: this.#now + ms, fire: ring };
    this.#alarms.add(event);
    return () => this.#alarms.delete(event);
  }

  /** Lets the time pass; whoever wakes up on the way goes on before later ones do. */
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

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** All that is due on the way happens in its turn. */
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

/** Lets everything run that can run without time passing. */
async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await setImmediate();
}
