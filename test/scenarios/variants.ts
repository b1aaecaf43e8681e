import type { Behaviour } from "../../src/emulator";

/** For each switch of the emulator, the behaviors that the specification allows. The first one is the default here. */
const variants: { readonly [K in keyof Behaviour]?: readonly Behaviour[K][] } = {
  resultLink: ["absolute", "relative", "early"],
  location: ["absolute", "relative", "missing"],
  getObject: [200, 404, 405],
  deleteObject: [204, 202, 405],
  revision: ["both", "header", "body", "weak"],
  putReply: [200, 204, 202],
  projectPost: [201, 200, 202],
  progress: ["linear", "bursts", "stuck", "absent"],
  fractionalDates: [false, true],
  instanceLimit: ["accepted", "refused"],
  ipField: ["ip_address", "public_address", "public_ip"],
  instanceVisible: ["at-once", "when-done"],
  finishedAt: [true, false],
};

/** Final statuses of failed operations. */
export const failedStatuses = ["failed", "error", "cancelled", "canceled", "aborted", "rejected"];

type Combination = Partial<Behaviour>;
const entries = Object.entries(variants);

/** One combination for each value of each switch, with all other switches at their first value. */
export function eachAlone(): Combination[] {
  return entries.flatMap(([key, values]) => values.map((value) => ({ [key]: value })));
}

/**
 * A small set of combinations that together contain each pair of values of two switches. A deterministic greedy search finds them.
 *
 * @param most the maximum number of combinations; those that contain the most pairs come first
 */
export function pairwise(most = Number.POSITIVE_INFINITY): Combination[] {
  const open = new Set(allPairs());
  const combinations: Combination[] = [];
  while (open.size > 0 && combinations.length < most) {
    const combination = bestCombination(open);
    for (const pair of pairsOf(combination)) open.delete(pair);
    combinations.push(combination);
  }
  return combinations;
}

function bestCombination(open: ReadonlySet<string>): Combination {
  let combination: Record<string, unknown> = {};
  for (const [key, values] of entries) {
    const gain = (value: unknown): number =>
      pairsOf({ ...combination, [key]: value }).filter((pair) => open.has(pair)).length;
    const future = (value: unknown): number =>
      [...open].filter((pair) => pair.includes(half(key, value))).length;
    const [best] = [...values].sort((a, b) => gain(b) - gain(a) || future(b) - future(a));
    combination = { ...combination, [key]: best };
  }
  return combination;
}

function allPairs(): string[] {
  return entries.flatMap(([a, ones], i) =>
    entries
      .slice(i + 1)
      .flatMap(([b, others]) => ones.flatMap((one) => others.map((other) => pair(a, one, b, other)))),
  );
}

function pairsOf(combination: Combination): string[] {
  const set = Object.entries(combination);
  return set.flatMap(([a, one], i) => set.slice(i + 1).map(([b, other]) => pair(a, one, b, other)));
}

const half = (key: string, value: unknown): string => `<${key}=${value}>`;
const pair = (a: string, one: unknown, b: string, other: unknown): string => half(a, one) + half(b, other);

/** The name of a combination: the values that differ from the first ones. */
export function title(combination: Combination): string {
  const differs = Object.entries(combination).filter(
    ([key, value]) => variants[key as keyof Behaviour]?.[0] !== value,
  );
  return differs.map(([key, value]) => `${key} ${value}`).join(", ") || "default behavior";
}
