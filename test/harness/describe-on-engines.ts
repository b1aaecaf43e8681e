import { beforeEach, describe } from "vitest";
import type { Engine } from "./engine";
import { engines } from "./engines";

/** `CLOUDINFRA_TEST_CLI=all`: every scenario with the CLI, which takes its time; else the first of each group, and each fifth. */
const isAll = process.env.CLOUDINFRA_TEST_CLI === "all";
const EACH = 5;

/** A group of scenarios, once for each engine at hand. */
export function describeOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describe(title, async () => {
    for (const engine of await engines())
      describe(`on ${engine.name}`, () => {
        if (engine.name === "pulumi" && !isAll) skipMost();
        scenarios(engine);
      });
  });
}

function skipMost(): void {
  let count = 0;
  beforeEach(({ skip }) => skip(count++ % EACH !== 0, "played with CLOUDINFRA_TEST_CLI=all"));
}
