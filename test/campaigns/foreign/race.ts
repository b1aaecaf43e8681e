import type { Kind } from "./program";
import type { Refusal } from "./refusal";
import type { Done } from "./somebody";

/** Commands of ours that somebody gets in the way of. */
export const COMMANDS = ["up, changed", "up", "up --refresh", "refresh", "replace", "delete"] as const;
export type Command = (typeof COMMANDS)[number];

/** One command of ours, with somebody else at work before, during and after it. */
export interface Race {
  readonly kind: Kind;
  readonly command: Command;
  readonly done: readonly Done[];
  /** How it ended. */
  readonly outcome: "through" | Refusal | "name taken" | "broken";
  readonly requests: number;
}
