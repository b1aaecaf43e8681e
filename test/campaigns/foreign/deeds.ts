import type { Random } from "../random";
import type { Target } from "./targets";

/** An action of somebody else on an object of the program. */
export type Deed =
  | {
      readonly kind: "set";
      readonly target: Target;
      /** The new value: a different one, the program's, the state's, or none. */
      readonly to: "theirs" | "wanted" | "known" | "none";
    }
  /**
   * touch: only the revision changes. re-create: deleted and created with another id. begin to delete: in deletion for
   * a while.
   */
  | { readonly kind: "touch" | "delete" | "re-create" | "begin to delete" };

/** When it happens: before the command, or directly after the n-th request (of that method). */
export type Moment = "before" | { readonly method?: string; readonly nth: number };

export interface Planned {
  readonly deed: Deed;
  readonly moment: Moment;
}

const OF_PROGRAMS = {
  project: ["name"],
  instance: ["name", "flavor", "network", "publicIp", "sshKeys", "labels.team", "labels.tier"],
} as const;
const OF_OTHERS = {
  project: ["description"],
  instance: ["labels.owner", "labels.also", "backup"],
} as const;

/** Plans one to six actions. */
export function plan(random: Random, kind: "project" | "instance"): Planned[] {
  const count = random.pick([1, 1, 1, 2, 2, 3, 6]);
  return Array.from({ length: count }, () => ({
    deed: randomDeed(random, kind),
    moment: randomMoment(random),
  }));
}

/** Plans actions after which a stack can be compared: they replace nothing, and every instance is running. */
export function planForStacks(random: Random): Planned[] {
  return plan(random, "instance").map(forStacks);
}

function forStacks(planned: Planned): Planned {
  const { deed } = planned;
  const isOther =
    deed.kind === "begin to delete" ||
    (deed.kind === "set" && ["image", "status", "name"].includes(deed.target));
  const instead: Deed = { kind: "set", target: "flavor", to: "theirs" };
  return isOther ? { ...planned, deed: instead } : planned;
}

function randomDeed(random: Random, kind: "project" | "instance"): Deed {
  const lot = random.fraction();
  // Nothing proves that a project was deleted, so a refresh would require the user to decide.
  if (kind === "instance") {
    if (lot < 0.08) return { kind: "delete" };
    if (lot < 0.15) return { kind: "re-create" };
    if (lot < 0.18) return { kind: "begin to delete" };
    if (lot < 0.22) return { kind: "touch" };
    if (lot < 0.26) return { kind: "set", target: "status", to: "theirs" };
    if (lot < 0.29) return { kind: "set", target: "image", to: "theirs" };
  }
  if (lot < 0.45) return { kind: "set", target: random.pick(OF_OTHERS[kind]), to: "theirs" };
  const to = random.pick(["theirs", "theirs", "theirs", "theirs", "wanted", "known", "none"] as const);
  return { kind: "set", target: random.pick(OF_PROGRAMS[kind]), to };
}

function randomMoment(random: Random): Moment {
  const lot = random.fraction();
  if (lot < 0.3) return "before";
  if (lot < 0.5) return { method: "PUT", nth: random.pick([1, 1, 2]) };
  if (lot < 0.7) return { method: "GET", nth: random.integer(1, 3) };
  return { nth: random.integer(1, 6) };
}
