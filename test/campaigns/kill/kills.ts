import type { Random } from "../random";
import type { Task } from "./plan";

/** What is killed: the CLI, the provider, or all processes of the machine. Or the CLI receives Ctrl-C, once or twice. */
type Victim = "cli" | "provider" | "all" | "ctrl-c" | "ctrl-c-twice";
type Where = "same" | "other";

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
  /** Time between the first Ctrl-C and the second. */
  readonly secondMs: number;
  readonly moment: Moment;
  readonly where: Where;
  /** How long what was not killed lives on before the next command: with "other", until the old machine is gone. */
  readonly graceMs: number;
  /** Whether what was not killed ends before the next command, on the same machine too. */
  readonly allEnd: boolean;
  /** Seed of the changes that people make before the next command. */
  readonly between: number;
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

/** Mostly while the service is asked or works; the start of a command is long, and nothing happens there. */
function randomMoment(random: Random, { action, changes }: Task, operationMs: number): Moment {
  if (random.chance(0.05)) return { of: "start", n: 0, when: "answered", delayMs: random.integer(300, 2500) };
  const of = random.chance(0.75) ? "change" : random.pick<Moment["of"]>(["read", "poll"]);
  const late = random.pick([5, 60, operationMs]);
  // Operations take longer in creations: where nothing is known to be polled, the changes themselves are the moment.
  const isPolled = action === "create" || action === "replace" || action === "taint";
  const kind = of === "poll" && !isPolled ? "change" : of;
  const when = kind === "change" && random.chance(0.25) ? "arrived" : "answered";
  const delayMs = when === "arrived" ? random.integer(0, SLOW_MS) : random.integer(0, late);
  const first = action === "create" && changes > 1 && random.chance(0.7) ? 2 : 1; // the project is made in no time
  const n = kind === "change" ? random.integer(first, changes) : random.integer(1, Math.ceil(changes / 2));
  return { of: kind, n, when, delayMs };
}
