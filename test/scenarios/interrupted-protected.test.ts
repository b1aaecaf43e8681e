import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { cutOff, errorsOf, expectOneEach, postsOf, programOf, urnOf } from "./cut-off";

const kept = { kept: ["", "protect: true"] } as const;
const retained = (name: string) => ({ [name]: ["", "retainOnDelete: true"] }) as const;

describeLongOnEngines("a creation that was cut off, of a resource with an option that keeps it", (engine) => {
  it("protect: it waits for `up --refresh`, and nothing else touches it; retainOnDelete: it stays where it leaves the program", async () => {
    const program = programOf({ ...kept, ...retained("on"), ...retained("out"), ...retained("off") });
    await withStack(engine, { program }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await cutOff(scenario);
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
      expect(emulator.instances.size, "those that were to stay are there").toBe(4);
      const known = ["kept", "on"];
      for (const [id, { fields }] of emulator.instances)
        if (!known.some((name) => String(fields.name).startsWith(`${name}-`))) emulator.remove(id);
      await expectOneEach(scenario, known);
    });
  });
});
