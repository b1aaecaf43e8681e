import { beforeEach, describe } from "vitest";
import type { Engine } from "./engine";
import { engines } from "./engines";

/** `CLOUDINFRA_TEST_CLI=all`: every scenario with the CLI, which takes its time. */
export const isAllWithCli = process.env.CLOUDINFRA_TEST_CLI === "all";

/** A group of scenarios, once for each engine at hand; with the CLI the first of the group only. */
export function describeOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, (at) => at === 0);
}

/** A group whose scenarios take half a minute and more with the CLI: they are played with it on request only. */
export function describeLongOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, () => false);
}

function describeEach(
  title: string,
  scenarios: (engine: Engine) => void,
  isPlayedWithCli: (at: number) => boolean,
): void {
  describe(title, async () => {
    for (const engine of await engines())
      describe(`on ${engine.name}`, () => {
        if (engine.name === "pulumi" && !isAllWithCli) playSome(isPlayedWithCli);
        scenarios(engine);
      });
  });
}

function playSome(isPlayed: (at: number) => boolean): void {
  let count = 0;
  beforeEach(({ skip }) => skip(!isPlayed(count++), "played with CLOUDINFRA_TEST_CLI=all"));
}
