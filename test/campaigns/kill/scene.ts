import type { Emulator } from "../../../src/emulator";
import type { Others } from "../compare";
import type { Machine } from "./machine";
import type { Answers } from "./moment";
import type { Rules } from "./plan";
import type { Search } from "./search";
import type { KillableStack } from "./stacks";
import type { Twin } from "./twin";

/** The environment of an episode. The machine may change. */
export interface Scene {
  readonly stack: KillableStack;
  readonly emulator: Emulator;
  readonly answers: Answers;
  readonly search: Search;
  readonly rules: Rules;
  /** Another stack with the same name in the same folder, in some lives. */
  readonly twin?: Twin | undefined;
  /** The objects of somebody else, which must not change. */
  others: Others;
  machine: Machine;
}
