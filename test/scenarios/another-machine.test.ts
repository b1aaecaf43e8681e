import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { RunOptions } from "../harness/engine";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { cutOff, expectOneEach, postsOf, programOf, urnOf } from "./cut-off";

/** What becomes of each, on a machine that knows nothing but the state. */
const names = [
  "refreshed",
  "destroyed",
  "refreshed-and-destroyed",
  "replaced",
  "removed",
  "up",
  "up-refreshed",
] as const;
const program = (left: readonly string[]): string =>
  programOf(Object.fromEntries(left.map((name) => [name, []])));

describeLongOnEngines("creations that were cut off, on a machine without their journal", (engine) => {
  it("are gone on with by every command, and nothing is made twice or left behind", async () => {
    await withStack(engine, { program: program(names) }, async (scenario) => {
      const { stack, emulator, dir, write } = scenario;
      await cutOff(scenario);
      emulator.finishOperations();
      rmSync(path.join(dir, "journal"), { recursive: true }); // that machine is lost
      const onlyOn = (name: (typeof names)[number], more: RunOptions = {}): RunOptions => ({
        target: [urnOf(name)],
        env: { CLOUDINFRA_JOURNAL_DIR: path.join(dir, `machine-of-${name}`) },
        ...more,
      });

      expectOk(await stack.run("refresh", onlyOn("refreshed")));
      expect(stateOf(await stack.deployment(), "refreshed").id).toMatch(/^ins-/);

      expectOk(await stack.run("destroy", onlyOn("destroyed")));
      expectOk(await stack.run("destroy", onlyOn("refreshed-and-destroyed", { refresh: true })));
      expect(emulator.instances.size).toBe(5);

      expectOk(await stack.run("up", onlyOn("replaced", { target: [], targetReplace: [urnOf("replaced")] })));
      expectOk(await stack.run("up", onlyOn("up-refreshed", { refresh: true })));
      const kept = ["refreshed", "replaced", "up", "up-refreshed"];
      write(program(kept));
      expectOk(await stack.run("up", onlyOn("up", { target: [] })));
      for (const gone of ["destroyed", "refreshed-and-destroyed", "removed"])
        expect(statesOf(await stack.deployment(), gone)).toEqual([]);
      expect(postsOf(emulator), "only what was to be replaced is made a second time").toHaveLength(
        names.length + 1,
      );
      const left = readdirSync(path.join(dir, "machine-of-replaced"));
      expect(left.filter((file) => !file.endsWith(".facts"))).toEqual([]);
      await expectOneEach(scenario, kept);
    });
  });
});
