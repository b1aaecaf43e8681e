import { Random } from "../random";
import { type EngineName, type Life, life } from "./life";

export interface CampaignOptions {
  readonly engine: EngineName;
  readonly kills: number;
  readonly seed: number;
  /** Lives at the same time. */
  readonly jobs: number;
  /** Leads this one life only, by its own seed. */
  readonly life?: number | undefined;
  readonly onLife?: (life: Life) => void;
}

/** Leads lives until there were enough kills. */
export async function campaign(options: CampaignOptions): Promise<Life[]> {
  const { engine, kills, seed, jobs, onLife } = options;
  if (options.life !== undefined) {
    const one = await life({ engine, seed: options.life, kills });
    onLife?.(one);
    return [one];
  }
  const random = new Random(seed);
  const lives: Life[] = [];
  const lead = async (): Promise<void> => {
    for (;;) {
      const left = kills - killsIn(lives);
      if (left <= 0) return;
      const one = await life({ engine, seed: random.seed(), kills: left });
      lives.push(one);
      onLife?.(one);
    }
  };
  await Promise.all(Array.from({ length: jobs }, lead));
  return lives;
}

export function killsIn(lives: readonly Life[]): number {
  return lives.flatMap(({ episodes }) => episodes.flatMap(({ made }) => made)).length;
}

/** Everything that was not as promised, in words. */
export function breachesIn(lives: readonly Life[]): string[] {
  return lives.flatMap(({ story }) => (story === undefined ? [] : [story]));
}
