import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { startEmulator } from "../../../src/emulator";
import { randomBehaviour } from "../behaviours";
import { addOthers, mismatch } from "../compare";
import type { Program } from "../programs";
import { Random } from "../random";
import { Commands } from "./commands";
import { type Episode, episode } from "./episode";
import { Machine } from "./machine";
import { Answers } from "./moment";
import { actionsOf, randomKill, randomTask, shares, withChangeOfMind } from "./plan";
import type { Scene } from "./scene";
import { fakeStack, pulumiStack } from "./stacks";
import { storyOf } from "./story";

export type EngineName = "fake" | "pulumi";

/** One stack from its first command to its last. */
export interface Life {
  readonly seed: number;
  readonly episodes: readonly Episode[];
  /** Everything needed to look at it, where a promise was broken. */
  readonly story?: string;
}

export interface LifeOptions {
  readonly engine: EngineName;
  /** Where all of it is kept while it lasts. */
  readonly folder: string;
  readonly seed: number;
  /** No more kills than these. */
  readonly kills: number;
}

/** Leads a life that follows from its seed, up to its end or to the first promise that is broken. */
export async function life({ engine, folder, seed, kills }: LifeOptions): Promise<Life> {
  const random = new Random(seed);
  const behaviour = randomBehaviour(random);
  const token = `canary-${random.seed().toString(16)}-${random.seed().toString(16)}`;
  const root = path.join(folder, `life-${seed}`);
  const logs = path.join(root, "logs");
  mkdirSync(logs, { recursive: true });
  const commands = new Commands(logs);
  const answers = new Answers();
  const emulator = await startEmulator({ token, behaviour, onRequest: answers.tell });
  const stack = (engine === "fake" ? fakeStack : pulumiStack)(root, commands);
  const scene: Scene = { stack, emulator, answers, others: addOthers(emulator), machine: new Machine(root) };
  const episodes: Episode[] = [];
  try {
    await stack.open(scene.machine, emulator);
    let program: Program | undefined;
    const dealt = shares(random);
    for (const action of actionsOf(random)) {
      const left = kills - episodes.flatMap(({ made }) => made).length;
      if (left <= 0) break;
      const task = withChangeOfMind(random, randomTask(random, action, program), program);
      const planned = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () =>
        randomKill(random, dealt, task, behaviour.operationMs),
      );
      const clearsPending = random.chance(0.5);
      const one = await episode(scene, task, planned.slice(0, left), clearsPending);
      const seen = seenToken(token, commands, scene.machine);
      const findings = [...one.findings, ...seen.map((where) => mismatch(`the token stands in ${where}`))];
      episodes.push({ ...one, findings });
      if (findings.length > 0)
        return { seed, episodes, story: storyOf({ seed, behaviour, episodes, scene, commands }) };
      program = one.wanted;
    }
    return { seed, episodes };
  } catch (error) {
    throw new Error(storyOf({ seed, behaviour, episodes, scene, commands }), { cause: error });
  } finally {
    await scene.machine.killAll();
    await emulator.stop();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

function seenToken(token: string, { all }: Commands, machine: Machine): string[] {
  return [
    ...all.filter(({ output }) => output.includes(token)).map(({ words }) => `what \`${words}\` said`),
    ...machine
      .journalFiles()
      .filter(({ text }) => text.includes(token))
      .map(({ name }) => `the journal's ${name}`),
  ];
}
