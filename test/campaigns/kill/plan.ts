import {
  changedForReplacement,
  changedInPlace,
  dropsLabels,
  inAnotherRegion,
  type Program,
  randomInstance,
  randomProgram,
} from "../programs";
import type { Random } from "../random";

export type Action = "create" | "update" | "replace" | "delete";
type Victim = "cli" | "provider" | "all";
type Where = "same" | "other";

/** What a command is to do. */
export interface Task {
  readonly action: Action;
  readonly command: "up" | "destroy";
  /** What is wanted in the end; undefined: nothing. */
  readonly program: Program | undefined;
  /** What is wanted instead once it was killed, where people then change their mind. */
  readonly instead?: Program;
  /** Whether the state has to be told what the service has before that. */
  readonly needsRefresh?: boolean;
  /** How many changes the service will be asked for, about. */
  readonly changes: number;
}

/** When to kill: after the start of the command, or once the service has got or answered its n-th request of a kind. */
export interface Moment {
  readonly of: "start" | "change" | "read" | "poll";
  readonly n: number;
  readonly when: "arrived" | "answered";
  readonly delayMs: number;
}

/** How long the service keeps a request that is to be killed while it is on its way. */
export const SLOW_MS = 500;

/** One kill and what happens between it and the next command. */
export interface Kill {
  readonly victim: Victim;
  readonly moment: Moment;
  readonly where: Where;
  /** How long what was not killed lives on before the next command: with "other", until the old machine is gone. */
  readonly graceMs: number;
  /** Whether what was not killed ends before the next command, on the same machine too. */
  readonly allEnd: boolean;
}

/** The victims and machines of a life, each as often as the others, in a random order. */
export interface Shares {
  victim(): Victim;
  where(): Where;
}

export function shares(random: Random): Shares {
  const dealt = <T>(all: readonly [T, ...T[]]): (() => T) => {
    let left: T[] = [];
    return () => {
      if (left.length === 0) left = random.shuffled(all);
      return left.pop() ?? all[0];
    };
  };
  return { victim: dealt(["cli", "provider", "all"]), where: dealt(["same", "other"]) };
}

export function randomKill(random: Random, { victim, where }: Shares, task: Task, operationMs: number): Kill {
  return {
    victim: victim(),
    where: where(),
    moment: randomMoment(random, task, operationMs),
    graceMs: random.pick([0, 0, random.integer(0, operationMs), operationMs + 500]),
    allEnd: random.chance(0.4),
  };
}

/** Mostly while the service is asked or works; the start of a command is long, and nothing happens there. */
function randomMoment(random: Random, { action, changes }: Task, operationMs: number): Moment {
  if (random.chance(0.05)) return { of: "start", n: 0, when: "answered", delayMs: random.integer(300, 2500) };
  const of = random.chance(0.75) ? "change" : random.pick<Moment["of"]>(["read", "poll"]);
  const late = random.pick([5, 60, operationMs]);
  // Operations take longer in creations: where nothing is known to be polled, the changes themselves are the moment.
  const isPolled = action === "create" || action === "replace";
  const kind = of === "poll" && !isPolled ? "change" : of;
  const when = kind === "change" && random.chance(0.25) ? "arrived" : "answered";
  const delayMs = when === "arrived" ? random.integer(0, SLOW_MS) : random.integer(0, late);
  const first = action === "create" && changes > 1 && random.chance(0.7) ? 2 : 1; // the project is made in no time
  const n = kind === "change" ? random.integer(first, changes) : random.integer(1, Math.ceil(changes / 2));
  return { of: kind, n, when, delayMs };
}

/** What a life does, beginning with nothing. */
export function actionsOf(random: Random): Action[] {
  return [
    "create",
    ...random.shuffled<Action>(["update", "replace", random.pick(["delete", "delete", "create", "replace"])]),
  ];
}

/**
 * Sometimes the program is changed between the kill and the next command; where it is again what it was, or where
 * an update was killed, `pulumi refresh` comes first, and nothing is taken back that was being created (docs/recovery.md, "What
 * it can't do"). A label key that an update had added can't be told from somebody else's then.
 */
export function withChangeOfMind(random: Random, task: Task, old: Program | undefined): Task {
  const { action } = task;
  const changed = randomTask(random, random.pick(["update", "replace"]), task.program).program;
  const isReverted = random.chance(0.4) && action !== "create";
  const isChanged = random.chance(0.3) && action !== "delete";
  const instead = isReverted ? old : changed;
  if (!isChanged || instead === undefined || task.program === undefined) return task;
  const isTakenBack = old !== undefined && takesBack(old, task.program, instead);
  const needsRefresh = isTakenBack || action === "update";
  return action === "update" && dropsLabels(task.program, instead)
    ? task
    : { ...task, instead, needsRefresh };
}

/** Whether something that `program` replaces is in `instead` as it was in `old`: what was killed may have deleted it. */
function takesBack(old: Program, program: Program, instead: Program): boolean {
  const imageIn = ({ instances }: Program, name: string): string | undefined =>
    instances.find(({ resource }) => resource === name)?.image;
  const isBack = (before: string | undefined, killed: string | undefined, now: string | undefined): boolean =>
    before !== killed && before === now;
  return (
    isBack(old.project.region, program.project.region, instead.project.region) ||
    old.instances.some(({ resource, image }) =>
      isBack(image, imageIn(program, resource), imageIn(instead, resource)),
    )
  );
}

/** The next thing to do; where there is nothing yet, that is a creation. */
export function randomTask(random: Random, action: Action, old: Program | undefined): Task {
  if (old === undefined) {
    const program = randomProgram(random);
    return { action: "create", command: "up", program, changes: 1 + program.instances.length };
  }
  const { instances } = old;
  const some = random.shuffled(instances.map((_, at) => at)).slice(0, random.integer(1, instances.length));
  const changed = (change: typeof changedInPlace): Program => ({
    ...old,
    instances: instances.map((instance, at) => (some.includes(at) ? change(random, instance) : instance)),
  });
  switch (action) {
    case "create": {
      const added = randomInstance(random, `more${random.integer(10, 999)}`);
      return { action, command: "up", program: { ...old, instances: [...instances, added] }, changes: 1 };
    }
    case "update":
      return { action, command: "up", program: changed(changedInPlace), changes: some.length };
    case "replace":
      return random.chance(0.25)
        ? { action, command: "up", program: inAnotherRegion(random, old), changes: 2 + 2 * instances.length }
        : { action, command: "up", program: changed(changedForReplacement), changes: 2 * some.length };
    case "delete": {
      if (random.chance(0.5))
        return { action, command: "destroy", program: undefined, changes: 1 + instances.length };
      const left = instances.filter((_, at) => !some.includes(at));
      return { action, command: "up", program: { ...old, instances: left }, changes: some.length };
    }
  }
}
