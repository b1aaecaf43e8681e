import type { Engine } from "../../harness/engine";
import { Random } from "../random";
import { pairsInOneStack, type StackReport } from "./stack";

export interface PairsOptions {
  readonly engine: Engine;
  readonly pairs: number;
  readonly seed: number;
  /** Number of pairs in each stack. */
  readonly together: number;
  /** Number of concurrent stacks. @default 1 */
  readonly jobs?: number;
  onStack?(report: StackReport): void;
}

/** Runs random pairs of programs, in as many stacks as needed. */
export async function pairsCampaign(options: PairsOptions): Promise<StackReport[]> {
  const { engine, pairs, seed, together, jobs = 1, onStack } = options;
  const random = new Random(seed);
  const stacks = Array.from({ length: Math.ceil(pairs / together) }, (_, at) => ({
    seed: random.seed(),
    count: Math.min(together, pairs - at * together),
  }));
  const reports: StackReport[] = [];
  const worker = async (): Promise<void> => {
    for (let next = stacks.shift(); next !== undefined; next = stacks.shift()) {
      const report = await pairsInOneStack(engine, next.seed, next.count);
      reports.push(report);
      onStack?.(report);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return reports;
}

/** Returns all violations, each with its stack. */
export function breachesOf(reports: readonly StackReport[]): string[] {
  return reports.flatMap(({ seed, behaviour, untruths, falseDiffs }) => {
    const where = `stack ${seed}, ${JSON.stringify(behaviour)}`;
    return [
      ...untruths.map((words) => `${where}: a wrong preview: ${words}`),
      ...falseDiffs.map((words) => `${where}: a false diff: ${words}`),
    ];
  });
}
