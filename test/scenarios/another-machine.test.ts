import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { RunOptions } from "../harness/engine";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { expectOneEach, postsOf, programOf, runInterruptedUp, urnOf } from "./interruption";

/** Names of the instances. Each says what happens to its instance on a machine that has only the state. */
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

describeLongOnEngines("interrupted creations on a machine without their journal", (engine) => {
  it("are completed or deleted by each command, without duplicates", async () => {
    await withStack(engine, { program: program(names) }, async (scenario) => {
      const { stack, emulator, dir, write } = scenario;
      await runInterruptedUp(scenario);
      emulator.finishOperations();
      rmSync(path.join(dir, "journal"), { recursive: true }); // The first machine is lost.
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
      expect(postsOf(emulator), "only the replaced instance is created twice").toHaveLength(names.length + 1);
      const left = readdirSync(path.join(dir, "machine-of-replaced"));
      expect(left.filter((file) => !file.endsWith(".facts"))).toEqual([]);
      await expectOneEach(scenario, kept);
    });
  });
});
