import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { killMarked } from "../../../demo/leftovers";
import { Random } from "../random";
import { type EngineName, type Life, life } from "./life";

export interface CampaignOptions {
  readonly engine: EngineName;
  readonly kills: number;
  readonly seed: number;
  /** Number of concurrent lives. */
  readonly jobs: number;
  /** Runs only the life with this seed. */
  readonly life?: number | undefined;
  readonly onLife?: (life: Life) => void;
}

/** Runs lives until there are enough kills. An interruption ends all processes that the campaign has started. */
export async function campaign(options: CampaignOptions): Promise<Life[]> {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-kills-")));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  const interrupted = (): void => {
    void killMarked(folder).finally(() => {
      remove();
      process.exit(130);
    });
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.once(signal, interrupted);
  try {
    return await leadLives(folder, options);
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
    remove();
  }
}

async function leadLives(folder: string, options: CampaignOptions): Promise<Life[]> {
  const { engine, kills, seed, jobs, onLife } = options;
  const random = new Random(seed);
  const lives: Life[] = [];
  const leadOne = async (lifeSeed: number): Promise<void> => {
    const one = await life({ engine, folder, seed: lifeSeed, kills: kills - killsIn(lives) });
    lives.push(one);
    onLife?.(one);
  };
  const lead = async (): Promise<void> => {
    while (killsIn(lives) < kills) await leadOne(random.seed());
  };
  if (options.life !== undefined) await leadOne(options.life);
  else await Promise.all(Array.from({ length: jobs }, lead));
  return lives;
}

export function killsIn(lives: readonly Life[]): number {
  return lives.flatMap(({ episodes }) => episodes.flatMap(({ made }) => made)).length;
}

/** Formats all violations. */
export function breachesIn(lives: readonly Life[]): string[] {
  return lives.flatMap(({ story }) => (story === undefined ? [] : [story]));
}
