import { Random } from "../random";
import { Life } from "./life";
import type { Race } from "./race";
import { openSetting } from "./setting";

export interface RacesOptions {
  readonly races: number;
  readonly seed: number;
  /** Runs only the life with this seed, as a violation names it. */
  readonly life?: number | undefined;
}

export interface RacesReport {
  readonly races: readonly Race[];
  readonly lives: number;
  readonly ms: number;
  readonly breaches: readonly string[];
}

const MOST_IN_A_LIFE = 6;
const ENOUGH_BREACHES = 5;
/** Longer than any life takes in real time. A longer one hangs. */
const LIMIT_MS = 30_000;

/**
 * Runs commands through the provider's host interface, while somebody else changes, deletes and recreates the resource.
 * Each life has one resource and its own service.
 */
export async function racesCampaign({ races, seed, life }: RacesOptions): Promise<RacesReport> {
  const started = performance.now();
  const random = new Random(seed);
  const done: Race[] = [];
  const breaches: string[] = [];
  let lives = 0;
  do {
    const one = await led(life ?? random.seed(), races - done.length);
    done.push(...one.races);
    breaches.push(...one.breaches);
    lives += 1;
  } while (life === undefined && done.length < races && breaches.length < ENOUGH_BREACHES);
  return { races: done, lives, ms: performance.now() - started, breaches };
}

async function led(seed: number, most: number): Promise<{ races: readonly Race[]; breaches: string[] }> {
  const random = new Random(seed);
  const count = random.integer(1, MOST_IN_A_LIFE);
  const setting = await openSetting(random);
  const life = new Life(setting, random);
  try {
    await inTime(life.lead(Math.min(count, most)));
  } catch (error) {
    life.breaches.push(error instanceof Error ? `${error.stack}` : String(error));
  } finally {
    await setting.close();
  }
  const [breach] = life.breaches;
  return {
    races: life.races,
    breaches: breach === undefined ? [] : [`life ${seed}: ${breach}\n${life.tale()}`],
  };
}

async function inTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the life hangs")), LIMIT_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
