import type { Random } from "../random";
import type { Task } from "./plan";

/** The target of a kill: the CLI, the provider, or all processes of the machine. Or the CLI receives Ctrl-C, once or twice. */
type Victim = "cli" | "provider" | "all" | "ctrl-c" | "ctrl-c-twice";
type Where = "same" | "other";

/** When to kill: after the start of the command, or when the n-th request of a kind arrives or gets its reply. */
export interface Moment {
  readonly of: "start" | "change" | "read" | "poll";
  readonly n: number;
  readonly when: "arrived" | "answered";
  readonly delayMs: number;
}

/** How long the service delays a request, so that the kill happens before the reply. */
export const SLOW_MS = 500;

/** A kill, and what happens before the next command. */
export interface Kill {
  readonly victim: Victim;
  /** Time between the first and the second Ctrl-C. */
  readonly secondMs: number;
  readonly moment: Moment;
  readonly where: Where;
  /**
   * How long surviving processes run before the next command. With "other", this is the time until the old machine is
   * shut down.
   */
  readonly graceMs: number;
  /** Whether surviving processes end before the next command, even on the same machine. */
  readonly allEnd: boolean;
  /** Seed for the users' changes before the next command. */
  readonly between: number;
}

/** The kinds of kills and machines of a life, in equal shares and random order. */
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
  return {
    victim: dealt(["cli", "provider", "all", "ctrl-c", "ctrl-c-twice"]),
    where: dealt(["same", "other"]),
  };
}

export function randomKill(random: Random, { victim, where }: Shares, task: Task, operationMs: number): Kill {
  return {
    victim: victim(),
    where: where(),
    moment: randomMoment(random, task, operationMs),
    graceMs: random.pick([0, 0, random.integer(0, operationMs), operationMs + 500]),
    allEnd: random.chance(0.4),
    secondMs: random.integer(10, 600),
    between: random.seed(),
  };
}

/** Usually chooses a moment during requests or operations, because nothing happens during the long start of a command. */
function randomMoment(random: Random, { action, changes }: Task, operationMs: number): Moment {
  if (random.chance(0.05)) return { of: "start", n: 0, when: "answered", delayMs: random.integer(300, 2500) };
  const of = random.chance(0.75) ? "change" : random.pick<Moment["of"]>(["read", "poll"]);
  const late = random.pick([5, 60, operationMs]);
  // Operations of creations take longer. For other actions, there may be no polls, so the moment depends on changes.
  const isPolled = action === "create" || action === "replace" || action === "taint";
  const kind = of === "poll" && !isPolled ? "change" : of;
  const when = kind === "change" && random.chance(0.25) ? "arrived" : "answered";
  const delayMs = when === "arrived" ? random.integer(0, SLOW_MS) : random.integer(0, late);
  const first = action === "create" && changes > 1 && random.chance(0.7) ? 2 : 1; // the creation of the project is too short
  const n = kind === "change" ? random.integer(first, changes) : random.integer(1, Math.ceil(changes / 2));
  return { of: kind, n, when, delayMs };
}
