import type { Random } from "../random";
import { REGIONS, randomInstance, randomOptions } from "./arguments";
import { Change } from "./change";
import type { Declared } from "./declared";
import { maybe } from "./draws";
import type { Rules } from "./rules";

/** Two versions of a program, and the changes between them. */
export interface Pair {
  /** The prefix of all its resource names. */
  readonly name: string;
  readonly before: readonly Declared[];
  readonly after: readonly Declared[];
  readonly changes: readonly string[];
}

/** Draws a pair of programs. */
export function randomPair(random: Random, name: string, rules: Rules): Pair {
  const before = firstProgram(random, name, rules);
  const maker = new Change(random, before, rules);
  const count = random.chance(0.1) ? 0 : random.integer(1, 5);
  for (let at = 0; at < count; at++) maker.one();
  const [first, then] = withProjectsKept([before, maker.resources]);
  return { name, before: first, after: then, changes: maker.words };
}

/** Keeps the projects of remaining instances, because the service rejects the deletion of a project with instances. */
function withProjectsKept(
  programs: readonly [readonly Declared[], readonly Declared[]],
): [Declared[], Declared[]] {
  const isKept = programs.flat().some(({ type, options }) => type === "Instance" && options.retainOnDelete);
  const kept = (program: readonly Declared[]): Declared[] =>
    program.map((one) =>
      isKept && one.type === "Project" ? { ...one, options: { ...one.options, retainOnDelete: true } } : one,
    );
  return [kept(programs[0]), kept(programs[1])];
}

function firstProgram(random: Random, name: string, rules: Rules): Declared[] {
  const project = (at: number): Declared => ({
    type: "Project",
    resource: `${name}-p${at}`,
    args: { region: random.pick(REGIONS), ...maybe(random, 0.4, { name: `given-${name}-p${at}` }) },
    options: randomOptions(random, rules, name),
  });
  const resources = Array.from({ length: random.chance(0.3) ? 2 : 1 }, (_, at) => project(at));
  const count = random.integer(1, 3);
  for (let at = 0; at < count; at++)
    resources.push(randomInstance(random, `${name}-i${at}`, resources, rules));
  return resources;
}
