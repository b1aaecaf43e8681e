import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";
import { cutOff, errorsOf, expectOneEach, programOf } from "./cut-off";

/** What changes from one `up` to the next, and whether the option `deleteBeforeReplace` is set. */
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

describeLongOnEngines("a creation that fails three times in a row, with other arguments", (engine) => {
  it("ends with one object as it is wanted, updated in place or replaced, also with deleteBeforeReplace", async () => {
    const behaviour = { putReply: 202 } as const;
    await withStack(engine, { program: versionOf(1), behaviour }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      for (const version of [1, 2, 3]) {
        write(versionOf(version));
        const errors = errorsOf(await cutOff(scenario, ["replaced"]));
        const toBeDone = Object.keys(cases).filter((name) => version < 3 || name !== "same");
        for (const name of toBeDone) expect(errors).toContain(`creating instance "${name}"`);
        if (version > 1) emulator.finishOperations(); // the second meets what goes on, the third what is done, but for one
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
});

describeLongOnEngines("a creation that timed out", (engine) => {
  it.skipIf(engine.name === "fake")(
    "is brought to its end before `replacementTrigger` replaces the instance, though Pulumi asks for no diff",
    async () => {
      const triggeredBy = (commit: string): string =>
        programOf({ web: ['name: "web"', `deleteBeforeReplace: true, replacementTrigger: "${commit}"`] });
      const behaviour = { uniqueNames: true };
      await withStack(engine, { program: triggeredBy("one"), behaviour }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        expectOk(await stack.run("up"));
        write(triggeredBy("two"));
        expect(errorsOf(await cutOff(scenario))).toContain('creating instance "web"');
        emulator.finishOperations();
        write(triggeredBy("three"));
        expectOk(await stack.run("up"));
        await expectOneEach(scenario, ["web"]);
      });
    },
  );
});
