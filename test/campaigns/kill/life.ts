import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { type Behaviour, startEmulator } from "../../../src/emulator";
import { type Elsewhere, withElsewhere } from "../../harness/elsewhere";
import { Leaks } from "../../harness/leaks";
import { failingBehaviour, randomBehaviour, unusualBehaviour } from "../behaviours";
import { addOthers, type Finding } from "../compare";
import type { Program } from "../programs";
import { Random } from "../random";
import { withImport } from "./between";
import { Commands } from "./commands";
import { type Episode, episode } from "./episode";
import { randomKill, shares } from "./kills";
import { Machine } from "./machine";
import { Answers } from "./moment";
import { actionsOf, randomTask, withChangeOfMind } from "./plan";
import type { Scene } from "./scene";
import { Search } from "./search";
import { fakeStack, pulumiStack, temporaryIn } from "./stacks";
import { storyOf } from "./story";
import { Twin } from "./twin";

export type EngineName = "fake" | "pulumi";

/** One stack from its first command to its last. */
export interface Life {
  readonly seed: number;
  readonly episodes: readonly Episode[];
  /** Everything that is known about the life, if it broke a promise. */
  readonly story?: string;
}

export interface LifeOptions {
  readonly engine: EngineName;
  /** The folder for all files of the life. */
  readonly folder: string;
  readonly seed: number;
  /** The maximum number of kills. */
  readonly kills: number;
}

/** Runs the life of a seed to its end, or to the first violation. */
export function life(options: LifeOptions): Promise<Life> {
  const random = new Random(options.seed);
  const usual = randomBehaviour(random);
  const { operationMs } = usual;
  const drawn = { ...usual, ...unusualBehaviour(random), ...failingBehaviour(random), operationMs };
  // If the reply to an update or a deletion is an empty 202, nobody can see that it failed, or that an update changed
  // nothing visible. The provider would wait until the deadline.
  const isUnseen = (status: number | undefined): boolean => status === 202 && drawn.acceptedReply === "bare";
  // After a killed deletion, a reused id leads to another object (docs/recovery.md, "Known limits").
  const behaviour = {
    ...drawn,
    idReuse: false,
    ...([drawn.putReply, drawn.deleteObject].some(isUnseen) && { failEvery: undefined }),
    ...(isUnseen(drawn.putReply) && { revisionOf: "changes" as const }),
  };
  const token = `canary-${random.seed().toString(16)}-${random.seed().toString(16)}`;
  const leaks = new Leaks({ token });
  return withElsewhere(leaks, (elsewhere) => lead(options, { random, behaviour, leaks, elsewhere }));
}

interface Beginning {
  readonly random: Random;
  readonly behaviour: Partial<Behaviour> & { readonly operationMs: number };
  readonly leaks: Leaks;
  readonly elsewhere: Elsewhere;
}

async function lead(
  { engine, folder, seed, kills }: LifeOptions,
  { random, behaviour, leaks, elsewhere }: Beginning,
): Promise<Life> {
  // A separate generator, so that the searches don't affect the schedule.
  const chance = new Random(seed + 1);
  const root = path.join(folder, `life-${seed}`);
  const logs = path.join(root, "logs");
  mkdirSync(logs, { recursive: true });
  const commands = new Commands(logs);
  const answers = new Answers();
  const emulator = await startEmulator({ token: leaks.token, behaviour, onRequest: answers.tell });
  const { linkOrigin, resultOrigin } = behaviour;
  if (chance.chance(0.5) || linkOrigin) emulator.behaviour.linkOrigin = elsewhere.url;
  if (resultOrigin) emulator.behaviour.resultOrigin = elsewhere.url;
  const openStack = engine === "fake" ? fakeStack : pulumiStack;
  const stack = openStack(root, commands, chance.chance(0.2));
  const search = new Search(leaks, commands, stack, temporaryIn(root));
  const others = addOthers(emulator);
  // Two stacks would create objects with the same given names.
  const another =
    chance.chance(0.3) && !behaviour.uniqueNames && openStack(path.join(root, "twin"), commands, false);
  const scene: Scene = {
    ...{ stack, emulator, answers, search, others },
    ...(another && { twin: new Twin(another) }),
    rules: { uniqueNames: behaviour.uniqueNames ?? false, explicit: engine === "pulumi" },
    machine: new Machine(root),
  };
  const episodes: Episode[] = [];
  try {
    await stack.open(scene.machine, emulator);
    if (another) await another.open(scene.machine, emulator);
    let program: Program | undefined;
    const dealt = shares(random);
    for (const action of actionsOf(random)) {
      const left = kills - episodes.flatMap(({ made }) => made).length;
      if (left <= 0) break;
      const place = { old: program, rules: scene.rules };
      const drawn = withImport(random, randomTask(random, action, place), scene);
      const task = withChangeOfMind(random, drawn, place);
      const planned = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () =>
        randomKill(random, dealt, task, behaviour.operationMs),
      );
      const skipsCheckpoints = random.chance(0.15);
      // Only the same machine can resume what the state doesn't record.
      const killsThere = planned.map((kill) =>
        skipsCheckpoints ? { ...kill, where: "same" as const } : kill,
      );
      const one = await episode(scene, task, {
        kills: killsThere.slice(0, left),
        skipsCheckpoints,
      });
      const leaked = [
        ...(await search.end(scene.machine)),
        ...elsewhere.requests.map((request) => `a request to another origin: ${request}`),
      ];
      const findings = [...one.findings, ...leaked.map((words): Finding => ({ kind: "leak", words }))];
      episodes.push({ ...one, findings });
      if (findings.length > 0)
        return { seed, episodes, story: storyOf({ seed, behaviour, episodes, scene, commands }) };
      program = one.wanted;
    }
    const gone = (await scene.twin?.run(scene, "destroy")) ?? [];
    const last = episodes.at(-1);
    if (gone.length === 0 || last === undefined) return { seed, episodes };
    episodes.splice(-1, 1, { ...last, findings: gone });
    return { seed, episodes, story: storyOf({ seed, behaviour, episodes, scene, commands }) };
  } catch (error) {
    throw new Error(storyOf({ seed, behaviour, episodes, scene, commands }), { cause: error });
  } finally {
    await scene.machine.killAll();
    await emulator.stop();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}
