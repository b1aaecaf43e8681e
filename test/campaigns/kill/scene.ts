import type { Emulator } from "../../../src/emulator";
import type { Others } from "../compare";
import type { Machine } from "./machine";
import type { Answers } from "./moment";
import type { Search } from "./search";
import type { KillableStack } from "./stacks";

/** Where an episode happens; the machine changes. */
export interface Scene {
  readonly stack: KillableStack;
  readonly emulator: Emulator;
  readonly answers: Answers;
  readonly search: Search;
  /** What is not the stack's, and stays as it is. */
  readonly others: Others;
  machine: Machine;
}
