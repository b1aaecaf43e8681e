import type { Behaviour } from "../../src/emulator";

/** Every way in which a service may reasonably read what the specification leaves open, switch by switch. */
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

/** The failed statuses under which a service may end an operation. */
export const failedStatuses = ["failed", "error", "cancelled", "canceled", "aborted", "rejected"];

type Life = Partial<Behaviour>;
const entries = Object.entries(variants);

/** Each value once, with every other switch at its first value. */
export function eachAlone(): Life[] {
  return entries.flatMap(([key, values]) => values.map((value) => ({ [key]: value })));
}

/**
 * As few lives as hold each pair of values of two switches at least once (found greedily, the same at every run), or, with
 * `most`, the ones that hold most.
 */
export function pairwise(most = Number.POSITIVE_INFINITY): Life[] {
  const open = new Set(allPairs());
  const lives: Life[] = [];
  while (open.size > 0 && lives.length < most) {
    const life = lifeCovering(open);
    for (const pair of pairsOf(life)) open.delete(pair);
    lives.push(life);
  }
  return lives;
}

function lifeCovering(open: ReadonlySet<string>): Life {
  let life: Record<string, unknown> = {};
  for (const [key, values] of entries) {
    const gain = (value: unknown): number =>
      pairsOf({ ...life, [key]: value }).filter((pair) => open.has(pair)).length;
    const future = (value: unknown): number =>
      [...open].filter((pair) => pair.includes(half(key, value))).length;
    const [best] = [...values].sort((a, b) => gain(b) - gain(a) || future(b) - future(a));
    life = { ...life, [key]: best };
  }
  return life;
}

function allPairs(): string[] {
  return entries.flatMap(([a, ones], i) =>
    entries
      .slice(i + 1)
      .flatMap(([b, others]) => ones.flatMap((one) => others.map((other) => pair(a, one, b, other)))),
  );
}

function pairsOf(life: Life): string[] {
  const set = Object.entries(life);
  return set.flatMap(([a, one], i) => set.slice(i + 1).map(([b, other]) => pair(a, one, b, other)));
}

const half = (key: string, value: unknown): string => `<${key}=${value}>`;
const pair = (a: string, one: unknown, b: string, other: unknown): string => half(a, one) + half(b, other);

/** A life's name: where it differs from the first values. */
export function title(life: Life): string {
  const differs = Object.entries(life).filter(
    ([key, value]) => variants[key as keyof Behaviour]?.[0] !== value,
  );
  return differs.map(([key, value]) => `${key} ${value}`).join(", ") || "everything as first named";
}
