import type { Random } from "../random";

/** The value, or nothing of it. */
export function maybe<T extends object>(
  random: Random,
  probability: number,
  value: T,
): T | Record<never, never> {
  return random.chance(probability) ? value : {};
}

/** @throws Error where there is nothing to choose from */
export function one<T>(random: Random, choices: readonly T[]): T {
  const [first, ...rest] = choices;
  if (first === undefined) throw new Error("there is nothing to choose from");
  return random.pick([first, ...rest]);
}
