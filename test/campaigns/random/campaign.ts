import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { Random } from "../random";
import { type Case, cases } from "./case";
import { live } from "./life";
import { Tally } from "./tally";

export interface Options {
  readonly cases: number;
  readonly seed: number;
  /** Runs only this case, as a violation names it. */
  readonly again?: Again | undefined;
  /** Called after each batch. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** The position of a case in fast-check's sequence. */
interface Again {
  readonly seed: number;
  readonly path: string;
}

export interface Breach extends Again {
  readonly promises: readonly string[];
  /** The calls and requests of the case. */
  readonly story: readonly string[];
  readonly smallest: Case;
}

export interface Report {
  readonly tally: Tally;
  readonly breaches: readonly Breach[];
  readonly ms: number;
  /**
   * Heap in use after a garbage collection, in bytes: the medians of the second and of the last tenth, if they could be
   * measured.
   */
  readonly heap: { readonly early: number; readonly late: number } | undefined;
}

const BATCH = 50;
const ENOUGH_BREACHES = 5;

/** Runs random cases in batches. Each batch has its own seed, from which fast-check generates, repeats and shrinks cases. */
export async function campaign({ cases: wanted, seed, again, onProgress }: Options): Promise<Report> {
  const started = performance.now();
  const tally = new Tally();
  const random = new Random(seed);
  const breaches: Breach[] = [];
  const heaps: number[] = [];
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  let broken: readonly string[] = [];
  const property = fc.asyncProperty(cases, async (one) => {
    broken = [];
    broken = (await live(one, tally)).breaches;
    await setImmediate();
    if (unhandled.length > 0)
      broken = [
        ...broken,
        ...unhandled.splice(0).map((reason) => `an unhandled rejection: ${String(reason)}`),
      ];
    if (broken.length > 0) throw new Error(`in a run before shrinking: ${broken.join("; ")}`);
  });
  try {
    for (let done = 0; done < wanted && breaches.length < ENOUGH_BREACHES; done += BATCH) {
      const batch = again ?? { seed: random.seed() | 0 };
      const runs = again === undefined ? Math.min(BATCH, wanted - done) : 1;
      const found = await fc.check(property, {
        ...batch,
        numRuns: runs,
        interruptAfterTimeLimit: LONGEST_BATCH_MS,
      });
      const smallest = found.counterexample?.[0];
      if (smallest !== undefined) {
        // The smallest case wasn't the last one that fast-check ran.
        const { breaches: again, story } = await live(smallest, new Tally());
        const [promises = [String(found.errorInstance)]] = [again, broken].filter(({ length }) => length > 0);
        breaches.push({ seed: found.seed, path: found.counterexamplePath ?? "", promises, story, smallest });
      }
      if (again !== undefined) break;
      heaps.push(heapNow());
      onProgress?.(done + runs);
    }
  } finally {
    process.off("unhandledRejection", onUnhandled);
  }
  return { tally, breaches, ms: performance.now() - started, heap: heapOf(heaps) };
}

/** A batch takes about a second. This limits the time for shrinking. */
const LONGEST_BATCH_MS = 60_000;

/** Returns the heap in use in bytes, or 0 if Node runs without `--expose-gc`. */
function heapNow(): number {
  if (globalThis.gc === undefined) return 0;
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

function heapOf(heaps: readonly number[]): Report["heap"] {
  const tenth = Math.floor(heaps.length / 10);
  if (tenth === 0 || heaps.includes(0)) return undefined;
  return { early: median(heaps.slice(tenth, 2 * tenth)), late: median(heaps.slice(-tenth)) };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
