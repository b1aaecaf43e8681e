import type { Random } from "../random";

/** Returns the value, or an empty object. */
export function maybe<T extends object>(
  random: Random,
  probability: number,
  value: T,
): T | Record<never, never> {
  return random.chance(probability) ? value : {};
}

/** @throws Error if there are no choices */
export function one<T>(random: Random, choices: readonly T[]): T {
  const [first, ...rest] = choices;
  if (first === undefined) throw new Error("there are no choices");
  return random.pick([first, ...rest]);
}
