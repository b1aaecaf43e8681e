import { beforeEach, describe } from "vitest";
import type { Engine } from "./engine";
import { engines } from "./engines";

/** `CLOUDINFRA_TEST_CLI=all`: every scenario with the CLI, which takes its time. */
export const isAllWithCli = process.env.CLOUDINFRA_TEST_CLI === "all";

/** A group of scenarios, once for each engine at hand; with the CLI the first of the group only. */
export function describeOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, 1);
}

/** A group whose scenarios take long with the CLI, for what little it would show that the fake does not: with it on request only. */
export function describeLongOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, 0);
}

function describeEach(title: string, scenarios: (engine: Engine) => void, playedWithCli: number): void {
  describe(title, async () => {
    for (const engine of await engines())
      describe(`on ${engine.name}`, () => {
        if (engine.name === "pulumi" && !isAllWithCli) playOnly(playedWithCli);
        scenarios(engine);
      });
  });
}

/** The first so many. */
function playOnly(most: number): void {
  let count = 0;
  beforeEach(({ skip }) => skip(count++ >= most, "played with CLOUDINFRA_TEST_CLI=all"));
}
