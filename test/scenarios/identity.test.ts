import { describe, expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { type Scenario, withStack } from "../harness/scenario";
import { statesOf } from "../harness/state";
import { errorsOf, expectOneEach, postsOf, programOf, runInterruptedUp, urnOf } from "./interruption";
import { journalOf, killedCreation } from "./killed";

/** Keeps journal entries after `up`, because the engine saves the state only at the end of the command. */
const UNCONFIRMED = { env: { PULUMI_SKIP_CHECKPOINTS: "1" } };

const WEB = { web: [] } as const;
const RENAMED = programOf({ old: ["", 'aliases: [{ name: "web" }]'] });
const OLD_AND_NEW = programOf({ old: [], web: [] });
const NEW_AND_OLD = programOf({ web: [], old: [] });

const idOf = async ({ stack }: Scenario, name: string): Promise<string> =>
  statesOf(await stack.deployment(), name)[0]?.id ?? "";

describeOnEngines("a renamed resource whose old name a new resource takes", (engine) => {
  it("is deleted without deleting the new one", async () => {
    await withStack(engine, { program: programOf(WEB) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up"));
      write(RENAMED);
      expectOk(await stack.run("up"));
      write(OLD_AND_NEW);
      expectOk(await stack.run("up", UNCONFIRMED));
      const id = await idOf(scenario, "web");
      expectOk(await stack.run("destroy", { target: [urnOf("old")] }));
      expect([...emulator.instances.keys()]).toEqual([id]);
    });
  });

  it.each([
    ["before", OLD_AND_NEW],
    ["after", NEW_AND_OLD],
  ])("never shares an instance with the new one if it is registered %s it", async (_when, program) => {
    await withStack(engine, { program: programOf(WEB) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up", UNCONFIRMED));
      await stack.renameState(urnOf("web"), "old");
      write(program);
      const result = await stack.run("up");
      if (result.ok) return expectOneEach(scenario, ["old", "web"]);
      expect(errorsOf(result)).toMatch(
        /and this resource manage the same instance|manages the instance of an interrupted creation/,
      );
      expect(emulator.instances.size).toBe(1);
    });
  });

  it("is resumed under its new name if its creation was interrupted", async () => {
    await withStack(engine, { program: 'new Project("p", { region: "eu-1" });' }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up"));
      const [project = ""] = emulator.projects.keys();
      await killedCreation(scenario, "web", { project });
      write(RENAMED);
      expectOk(await stack.run("up"));
      expect(emulator.instances.size).toBe(1);
      await expectOneEach(scenario, ["old"]);
    });
  });

  it("is resumed instead of recreated if deleteBeforeReplace deletes its placeholder first", async () => {
    const options = { program: programOf(WEB), behaviour: { operationMs: 100 } };
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await runInterruptedUp(scenario);
      emulator.finishOperations();
      write(programOf({ old: ["", 'aliases: [{ name: "web" }], deleteBeforeReplace: true'] }));
      expectOk(await stack.run("up"));
      expect(postsOf(emulator)).toHaveLength(1);
      await expectOneEach(scenario, ["old"]);
    });
  });
});

describeOnEngines("two stacks of the same name in one folder with different backends", (engine) => {
  it("never adopt or delete each other's instances", async () => {
    await withStack(engine, { program: 'new Project("p", { region: "eu-1" });' }, async (scenario) => {
      const { stack, emulator, write, open } = scenario;
      const other = await open();
      for (const one of [stack, other]) expectOk(await one.run("up"));
      const project = await idOf(scenario, "p");
      const theirs = await killedCreation(scenario, "web", { project });
      write(programOf(WEB));
      for (const _ of [1, 2]) expectOk(await other.run("up"));
      expect(emulator.instances.size).toBe(2);
      expect(await journalOf(scenario).list()).toHaveLength(1);
      expectOk(await other.run("destroy"));
      expect([...emulator.instances.keys()]).toEqual([theirs]);
      expectOk(await stack.run("up"));
      await expectOneEach(scenario, ["web"]);
    });
  });
});

describeOnEngines("an instance that the stack no longer manages", (engine) => {
  it.each(["retainOnDelete", "pulumi state delete"])(
    "is not deleted with its project after %s",
    async (how) => {
      const retained = how === "retainOnDelete";
      const program = programOf({ web: ["", retained ? "retainOnDelete: true" : ""] });
      await withStack(engine, { program }, async (scenario) => {
        const { stack, emulator } = scenario;
        expectOk(await stack.run("up", UNCONFIRMED));
        if (!retained) await stack.deleteState(urnOf("web"));
        expect(errorsOf(await stack.run("destroy"))).toContain("still holds instances");
        expect(emulator.instances.size).toBe(1);
      });
    },
  );
});

describeOnEngines("an interrupted creation that another provider process resumes", (engine) => {
  it("is not deleted by the process that deletes the placeholder", async () => {
    await withStack(engine, { program: programOf(WEB) }, async (scenario) => {
      const { emulator, stack, write } = scenario;
      await runInterruptedUp(scenario);
      emulator.finishOperations();
      write(programOf({ web: ["", 'version: "3.250.1"'] }));
      expectOk(await stack.run("up"));
      expect(postsOf(emulator)).toHaveLength(1);
      expect(emulator.instances.size).toBe(1);
      await expectOneEach(scenario, ["web"]);
    });
  });
});

describe.each([true, false])(
  "a tainted resource with the `import` option and deleteBeforeReplace: %s",
  (deleteFirst) => {
    describeOnEngines("is reported as replaced only if it was replaced", (engine) => {
      it("and the next `up` succeeds", async () => {
        await withStack(engine, { program: 'new Project("p", { region: "eu-1" });' }, async (scenario) => {
          const { stack, emulator, write } = scenario;
          expectOk(await stack.run("up"));
          const [project = ""] = emulator.projects.keys();
          const fields = { project, name: "web", image: "ubuntu", flavor: "small", network: "n" };
          const { id } = emulator.addInstance(fields);
          const options = `import: "${id}", deleteBeforeReplace: ${deleteFirst}`;
          write(programOf({ web: ['name: "web"', options] }));
          expectOk(await stack.run("up"));
          await stack.taint(urnOf("web"));
          const result = await stack.run("up");
          if (deleteFirst) expectOk(result);
          else expect(errorsOf(result)).toContain("was not replaced, because it was adopted again");
          expectOk(await stack.run("up"));
          const kept = await idOf(scenario, "web");
          expect([...emulator.instances.keys()]).toEqual([kept]);
          expect(kept === id).toBe(!deleteFirst);
        });
      });
    });
  },
);
