import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import type { RunResult } from "../harness/engine";
import { withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";
import { expectOneEach, programOf, urnOf } from "./interruption";
import { journalOf, killedCreation } from "./killed";

/** Warnings about interrupted creations, by default those whose resources the program no longer declares. */
const warningsOf = ({ diagnostics }: RunResult, words = "no longer declares"): string[] =>
  diagnostics
    .filter(({ severity, message }) => severity === "warning" && message.includes(words))
    .map(({ message }) => message);

describeOnEngines("a killed creation in a project that isn't in the stack", (engine) => {
  it("causes one warning in a `destroy`, which keeps its object", async () => {
    await withStack(engine, { program: programOf({}) }, async (scenario) => {
      const { stack, emulator } = scenario;
      expectOk(await stack.run("up"));
      const { id: project } = emulator.addProject();
      const id = await killedCreation(scenario, "web", { project });
      const [warning, ...more] = warningsOf(expectOk(await stack.run("destroy")), "may still exist");
      expect(more).toEqual([]);
      expect(warning).toContain(urnOf("web"));
      expect([...emulator.instances.keys()]).toEqual([id]);
    });
  });
});

describeLongOnEngines("a killed creation whose resource is removed from the program", (engine) => {
  it("causes a warning in each `up`, but not in previews, until the resource is declared again", async () => {
    await withStack(engine, { program: programOf({}) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up"));
      const project = stateOf(await stack.deployment(), "p").id ?? "";
      const id = await killedCreation(scenario, "web", { project });
      const [operation] = [...emulator.operations.keys()].slice(-1);

      expect(warningsOf(expectOk(await stack.run("preview")))).toEqual([]);
      for (const _ of ["once", "again"]) {
        const [warning, ...more] = warningsOf(expectOk(await stack.run("up")));
        expect(more).toEqual([]);
        expect(warning).toContain(`instance "web" with the operation ${operation}, started 20`);
        expect(warning).toContain(urnOf("web"));
        expect(warning).toContain("npx pulumi-cloudinfra recover --forget <urn>");
      }

      write(`${programOf({})}\nthrow new Error("broken");`);
      const failed = await stack.run("up");
      expect(failed.ok).toBe(false);
      expect(warningsOf(failed)).toEqual([]);

      write(programOf({ web: [] }));
      expect(warningsOf(expectOk(await stack.run("up")))).toEqual([]);
      expect([...emulator.instances.keys()]).toEqual([id]);
      await expectOneEach(scenario, ["web"]);
    });
  });

  it.each([
    ["resumed", 'image: "new"', { isReported: false, images: ["new"] }],
    ["resumed if the provider outlived the kill", 'image: "new"', { isReported: true, images: ["new"] }],
    ["undone if the image has changed", 'image: "newer"', { isReported: false, images: ["newer"] }],
    [
      "kept if the image has changed and the provider outlived the kill",
      'image: "newer"',
      { isReported: true, images: ["new", "newer"] },
    ],
  ])(
    "of a replacement is %s when the resource is declared again",
    async (_how, args, { isReported, images }) => {
      await withStack(engine, { program: programOf({ web: ['image: "old"'] }) }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        expectOk(await stack.run("up"));
        const before = await stack.deployment();
        const { id: old = "", inputs } = stateOf(before, "web");
        const project = stateOf(before, "p").id ?? "";
        const made = await killedCreation(scenario, "web", {
          project,
          fields: { image: "new" },
          replaces: inputs?.__key,
        });
        const journal = journalOf(scenario);
        const [{ key = "" } = {}] = await journal.list();
        if (isReported) await journal.extend(key, { id: made });
        // The engine removes a resource from the state after it has deleted it for an interrupted replacement.
        await stack.deleteState(urnOf("web"));
        emulator.remove(old);
        write(programOf({}));
        expect(warningsOf(expectOk(await stack.run("up")))).toHaveLength(1);
        write(programOf({ web: [args] }));
        expectOk(await stack.run("up"));
        expect([...emulator.instances.values()].map(({ fields }) => fields.image)).toEqual(images);
        expect(emulator.instances.has(made)).toBe(images.includes("new"));
        if (images.length === 1) await expectOneEach(scenario, ["web"]);
      });
    },
  );

  it("causes a warning even if the program declares no resource of this package", async () => {
    await withStack(engine, { program: "exports.nothing = 1;" }, async (scenario) => {
      const urn = "urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Project::shop";
      await journalOf(scenario).begin({
        urn,
        key: randomUUID(),
        resource: "other",
        body: "{}",
        at: Date.now(),
      });
      const [warning] = warningsOf(expectOk(await scenario.stack.run("up")));
      expect(warning).toContain('project "shop", which may not exist, started');
      expect(scenario.emulator.requests).toEqual([]);
    });
  });

  it("causes no warning if it was saved before the kill, and its object is deleted", async () => {
    await withStack(engine, { program: programOf({ web: [] }) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up"));
      const { id, inputs } = stateOf(await stack.deployment(), "web");
      const { __key: key } = Object(inClear(inputs));
      const journal = journalOf(scenario);
      await journal.begin({ urn: urnOf("web"), key, resource: key, body: "{}", at: Date.now() });
      await journal.extend(key, { id: id ?? "" });
      write(programOf({}));
      expect(warningsOf(expectOk(await stack.run("up")))).toEqual([]);
      expect(emulator.instances.size).toBe(0);
      expect(await journal.list()).toEqual([]);
      await expectConverged(scenario);
    });
  });
});
