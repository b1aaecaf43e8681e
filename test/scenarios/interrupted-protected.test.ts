import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { errorsOf, expectOneEach, postsOf, programOf, runInterruptedUp, urnOf } from "./interruption";

const kept = { kept: ["", "protect: true"] } as const;
const retained = (name: string) => ({ [name]: ["", "retainOnDelete: true"] }) as const;

describeLongOnEngines("an interrupted creation of a resource with protect or retainOnDelete", (engine) => {
  it("is resumed by `up --refresh` if protected, and kept after its removal if retained", async () => {
    const program = programOf({ ...kept, ...retained("on"), ...retained("out"), ...retained("off") });
    await withStack(engine, { program }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await runInterruptedUp(scenario);
      emulator.finishOperations();
      const placeholder = stateOf(await stack.deployment(), "kept").id;
      expect(placeholder).toMatch(/^operation\/op-/);

      expect(errorsOf(await stack.run("up", { target: [urnOf("kept")] }))).toMatch(
        /unable to replace .*kept.*protect/s,
      );

      const destroy = { target: [urnOf("kept"), urnOf("off")], continueOnError: true };
      expect(errorsOf(await stack.run("destroy", destroy))).toMatch(/kept.*protect/s);
      expect(statesOf(await stack.deployment(), "off")).toEqual([]);

      write(programOf(retained("on")));
      expect(errorsOf(await stack.run("up", { continueOnError: true }))).toMatch(/kept.*protect/s);
      expect(statesOf(await stack.deployment(), "out")).toEqual([]);
      expect(stateOf(await stack.deployment(), "kept").id).toBe(placeholder);

      write(programOf({ ...kept, ...retained("on") }));
      expectOk(await stack.run("up", { refresh: true }));
      expect(postsOf(emulator)).toHaveLength(4);
      expect(emulator.instances.size, "no instance was deleted").toBe(4);
      const known = ["kept", "on"];
      for (const [id, { fields }] of emulator.instances)
        if (!known.some((name) => String(fields.name).startsWith(`${name}-`))) emulator.remove(id);
      await expectOneEach(scenario, known);
    });
  });
});
