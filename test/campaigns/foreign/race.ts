import type { Kind } from "./program";
import type { Refusal } from "./refusal";
import type { Done } from "./somebody";

/** Commands during which somebody else changes the resource. */
export const COMMANDS = ["up, changed", "up", "up --refresh", "refresh", "replace", "delete"] as const;
export type Command = (typeof COMMANDS)[number];

/** One command, with actions of somebody else before, during and after it. */
export interface Race {
  readonly kind: Kind;
  readonly command: Command;
  readonly done: readonly Done[];
  /** How the command ended. */
  readonly outcome: "succeeded" | Refusal | "name taken" | "broken";
  readonly requests: number;
}
