import { beforeEach, describe } from "vitest";
import type { Engine } from "./engine";
import { engines } from "./engines";

/** Whether `npm run test:all` runs: every scenario on the fake engine, and the first of each group with the CLI. */
const isFull = process.env.CLOUDINFRA_TEST === "all";

/** Whether `CLOUDINFRA_TEST_CLI=all` is set: every scenario runs with the CLI, too. */
export const isAllWithCli = process.env.CLOUDINFRA_TEST_CLI === "all";

/** Describes a group of scenarios for each engine. `npm test` runs the first one on the fake engine. */
export function describeOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, 1);
}

/** Describes a group of slow scenarios. With the CLI, they run only if `CLOUDINFRA_TEST_CLI` is `all`. */
export function describeLongOnEngines(title: string, scenarios: (engine: Engine) => void): void {
  describeEach(title, scenarios, 0);
}

function describeEach(title: string, scenarios: (engine: Engine) => void, withCli: number): void {
  describe(title, async () => {
    for (const engine of await engines())
      describe(`on ${engine.name}`, () => {
        if (engine.name !== "pulumi") runOnly(isFull ? Number.POSITIVE_INFINITY : 1, "npm run test:all");
        else if (!isAllWithCli) runOnly(isFull ? withCli : 0, "CLOUDINFRA_TEST_CLI=all npm run test:all");
        scenarios(engine);
      });
  });
}

/** Skips all scenarios of a group after the first `count`. */
function runOnly(count: number, command: string): void {
  let started = 0;
  beforeEach(({ skip }) => skip(started++ >= count, `runs with ${command}`));
}
