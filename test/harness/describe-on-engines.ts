import { describe } from "vitest";
import type { Engine } from "./engine";
import { engines } from "./engines";

/** A group of scenarios, once for each engine at hand. */
export function describeOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describe(title, async () => {
    for (const engine of await engines()) describe(`on ${engine.name}`, () => scenarios(engine));
  });
}
