import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";
import { errorsOf, expectOneEach, programOf, runInterruptedUp } from "./interruption";

/** The argument that each `up` changes, and whether deleteBeforeReplace is set. */
const cases = {
  same: ["", false],
  updated: ["flavor", false],
  replaced: ["image", false],
  "before-updated": ["flavor", true],
  "before-replaced": ["image", true],
} as const;

const versionOf = (version: number): string =>
  programOf(
    Object.fromEntries(
      Object.entries(cases).map(([name, [argument, before]]) => [
        name,
        [argument && `${argument}: "v${version}"`, before ? "deleteBeforeReplace: true" : ""],
      ]),
    ),
  );

describeLongOnEngines(
  "a creation that is interrupted three times, each time with other arguments",
  (engine) => {
    it("ends with one object that has the latest arguments", async () => {
      const behaviour = { putReply: 202 } as const;
      await withStack(engine, { program: versionOf(1), behaviour }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        for (const version of [1, 2, 3]) {
          write(versionOf(version));
          const errors = errorsOf(await runInterruptedUp(scenario, ["replaced"]));
          const unfinished = Object.keys(cases).filter((name) => version < 3 || name !== "same");
          for (const name of unfinished) expect(errors).toContain(`creating instance "${name}"`);
          // The second run finds operations in progress. The third finds all of them finished except one.
          if (version > 1) emulator.finishOperations();
        }
        write(versionOf(4));
        expectOk(await stack.run("up"));
        await expectOneEach(scenario, Object.keys(cases));
        const deployment = await stack.deployment();
        for (const [name, [argument]] of Object.entries(cases)) {
          const { fields } = emulator.instances.get(stateOf(deployment, name).id ?? "") ?? {};
          if (argument) expect(fields).toMatchObject({ [argument]: "v4" });
        }
      });
    });
  },
);

describeLongOnEngines("a creation that timed out", (engine) => {
  it.skipIf(engine.name === "fake")(
    "is resumed before `replacementTrigger` replaces the instance, although Pulumi requests no diff",
    async () => {
      const triggeredBy = (commit: string): string =>
        programOf({ web: ['name: "web"', `deleteBeforeReplace: true, replacementTrigger: "${commit}"`] });
      const behaviour = { uniqueNames: true };
      await withStack(engine, { program: triggeredBy("one"), behaviour }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        expectOk(await stack.run("up"));
        write(triggeredBy("two"));
        expect(errorsOf(await runInterruptedUp(scenario))).toContain('creating instance "web"');
        emulator.finishOperations();
        write(triggeredBy("three"));
        expectOk(await stack.run("up"));
        await expectOneEach(scenario, ["web"]);
      });
    },
  );
});
