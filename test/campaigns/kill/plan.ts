import {
  changedForReplacement,
  changedInPlace,
  type DeclaredResource,
  dropsLabels,
  inAnotherRegion,
  type Program,
  randomInstance,
  randomProgram,
  resourcesOf,
  withOptions,
} from "../programs";
import type { Random } from "../random";

export type Action = "create" | "update" | "replace" | "taint" | "delete" | "target";

/** What the engine and the service support. */
export interface Rules {
  /** The service rejects a second object with the same name. */
  readonly uniqueNames: boolean;
  /** The engine supports explicit providers. */
  readonly explicit: boolean;
}
/** What a command does. */
export interface Task {
  readonly action: Action;
  readonly command: "up" | "destroy";
  /** The program, or undefined to destroy everything. */
  readonly program: Program | undefined;
  /** The program after the kill, if users then change their mind. */
  readonly instead?: Program;
  /** Whether a refresh must come before it. */
  readonly needsRefresh?: boolean;
  /** Names of resources to taint before the command. */
  readonly taints?: readonly string[];
  /** Names of resources that `destroy` is limited to. */
  readonly targets?: readonly string[];
  /** The approximate number of changes at the service. */
  readonly changes: number;
}

/** Returns the actions of a life, which starts without resources. */
export function actionsOf(random: Random): Action[] {
  return [
    "create",
    ...random.shuffled<Action>([
      "update",
      random.pick(["replace", "replace", "taint"]),
      random.pick(["delete", "target", "create", "create", "taint"]),
    ]),
  ];
}

/**
 * Sometimes changes the program between the kill and the next command. `pulumi refresh` comes first if the program
 * becomes what it was before, or if an update was killed. The change then removes nothing that was being created
 * (docs/recovery.md, "What it can't do"). A label key that an update added can't be told from one of somebody else
 * then.
 */
export function withChangeOfMind(
  random: Random,
  task: Task,
  { old, rules }: { old: Program | undefined; rules: Rules },
): Task {
  const { action, command, program } = task;
  // An import must match the object that it adopts.
  const isImport = action === "create" && program?.instances.at(-1)?.imports !== undefined;
  const change = isImport ? "update" : random.pick<Action>(["update", "replace"]);
  const changed = randomTask(random, change, { old: program, rules }).program;
  const isReverted = random.chance(0.4) && action !== "create";
  const isChanged = random.chance(0.3) && action !== "delete" && command === "up";
  const instead = isReverted ? old : changed;
  if (!isChanged || instead === undefined || task.program === undefined) return task;
  const isTakenBack = old !== undefined && takesBack(old, task.program, instead);
  const needsRefresh = isTakenBack || action === "update";
  return action === "update" && dropsLabels(task.program, instead)
    ? task
    : { ...task, instead, needsRefresh };
}

/** Returns whether `instead` restores something that `program` replaces. The killed command may have deleted it. */
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

/** Returns the next task. Without resources, that is a creation. */
export function randomTask(
  random: Random,
  action: Action,
  { old, rules }: { old: Program | undefined; rules: Rules },
): Task {
  if (old === undefined) {
    const drawn = randomProgram(random);
    const optioned = { ...drawn, instances: drawn.instances.map((one) => withOptions(random, one)) };
    const program = withProviders(random, optioned, rules);
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
      const added = withOptions(random, randomInstance(random, `more${random.integer(10, 999)}`));
      return { action, command: "up", program: { ...old, instances: [...instances, added] }, changes: 1 };
    }
    case "update":
      return { action, command: "up", program: changed(changedInPlace), changes: some.length };
    case "replace":
      return random.chance(0.25)
        ? { action, command: "up", program: inAnotherRegion(random, old), changes: 2 + 2 * instances.length }
        : { action, command: "up", program: changed(changedForReplacement), changes: 2 * some.length };
    case "taint": {
      const program = { ...old, instances: instances.map(({ imports: _, ...one }) => one) };
      const names = taintable(program, rules).map(({ resource }) => resource);
      const taints = random.shuffled(names).slice(0, random.integer(1, 2));
      return { action, command: "up", program, taints, changes: Math.max(1, 2 * taints.length) };
    }
    case "target": {
      const targets = instances.flatMap(({ resource }, at) => (some.includes(at) ? resource : []));
      const left = instances.filter((_, at) => !some.includes(at));
      return {
        action,
        command: "destroy",
        targets,
        program: { ...old, instances: left },
        changes: some.length,
      };
    }
    case "delete": {
      if (random.chance(0.5))
        return { action, command: "destroy", program: undefined, changes: 1 + instances.length };
      const left = instances.filter((_, at) => !some.includes(at));
      return { action, command: "up", program: { ...old, instances: left }, changes: some.length };
    }
  }
}

/**
 * Returns the resources that a user may taint. The replacement is created before the old object is deleted, so two objects with one given
 * name exist for a moment. With an `import` option, it would import the old object again.
 */
export function taintable(program: Program, { uniqueNames }: Rules): readonly DeclaredResource[] {
  if (program.instances.some(({ imports }) => imports !== undefined)) return [];
  return resourcesOf(program).filter(({ name }) => !uniqueNames || name === undefined);
}

/** A version with its own provider process. */
export const OTHER_VERSION = "3.250.1";

/** Some programs use several provider processes, with the option `version` or an explicit provider. */
function withProviders(random: Random, { project, instances }: Program, { explicit }: Rules): Program {
  const how = random.pick(["default", "default", "version", "explicit"]);
  const chosen = instances.map(() => random.chance(0.6));
  const other =
    how === "explicit" ? explicit && { explicit } : how === "version" && { version: OTHER_VERSION };
  return { project, instances: instances.map((one, at) => (chosen[at] ? { ...one, ...other } : one)) };
}
