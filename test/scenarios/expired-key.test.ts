import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import type { StateResource } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";
import { errorsOf, expectOneEach, postsOf, programOf, runInterruptedUp, urnOf } from "./interruption";
import { forget, journalOf, killedCreation } from "./killed";

const YESTERDAY = Date.now() - 23.5 * 3_600_000;

/** Changes an unfinished creation so that its reply was lost more than 23 hours ago. */
function aged(resource: StateResource): StateResource {
  const { operation: _operation, ...pending } = Object(inClear(resource.outputs?.__pending));
  return {
    ...resource,
    id: `operation/key-${pending.key}`,
    outputs: { ...resource.outputs, __pending: { ...pending, at: YESTERDAY } },
  };
}

async function edit(
  { stack }: Scenario,
  change: (resource: StateResource) => StateResource[],
): Promise<void> {
  const deployment = await stack.deployment();
  await stack.import({ ...deployment, resources: deployment.resources?.flatMap(change) ?? [] });
}

describeOnEngines(
  "a creation that was interrupted more than 23 hours ago before its reply arrived",
  (engine) => {
    it("isn't retried, and the steps in the error lead to one instance", async () => {
      await withStack(engine, { program: programOf({ saved: [] }) }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        await runInterruptedUp(scenario);
        emulator.finishOperations();
        for (const { key } of await journalOf(scenario).list()) await journalOf(scenario).remove(key);
        const [saved = ""] = emulator.instances.keys();
        const isSaved = ({ urn }: StateResource) => urn === urnOf("saved");
        await edit(scenario, (resource) => [isSaved(resource) ? aged(resource) : resource]);
        const project = stateOf(await stack.deployment(), "p").id ?? "";
        const noted = await killedCreation(scenario, "noted", {
          project,
          at: YESTERDAY,
          isReplyRecorded: false,
        });

        write(programOf({ saved: [], noted: [] }));
        const asked = postsOf(emulator).length;
        const errors = errorsOf(await stack.run("up", { continueOnError: true }));
        for (const [name, id] of Object.entries({ saved, noted })) {
          expect(errors).toContain(
            `creating instance "${name}" failed: a creation was interrupted more than 23 hours ago, ` +
              `so the outcome is unknown: the service lists ${id} with the same name`,
          );
        }
        expect(errors).toMatch(/hint: .*`import`.*recover --forget <urn>.*Nothing was created or adopted/);
        expect(postsOf(emulator)).toHaveLength(asked);
        expect([...emulator.instances.keys()]).toEqual([saved, noted]);

        for (const id of [saved, noted]) emulator.remove(id);
        for (const name of ["saved", "noted"]) await forget(scenario, urnOf(name));
        expectOk(await stack.run("up"));
        await expectOneEach(scenario, ["saved", "noted"]);
      });
    });
  },
);

describeLongOnEngines("an error that the service stores for an idempotency key", (engine) => {
  it("is retried with a new key, and a warning names an existing instance with the same name", async () => {
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const project = emulator.addProject().id;
      write(
        `new Instance("web", { project: "${project}", name: "given", image: "i", flavor: "f", network: "n" });`,
      );
      const stored = { kind: "status", status: 500, cached: true } as const;
      emulator.fail({ method: "POST", path: "/v1/instances", ...stored });
      const foreign = emulator.addInstance({ project, name: "given" });
      const result = expectOk(await stack.run("up"));
      expect(new Set(postsOf(emulator).map(({ headers }) => headers["idempotency-key"])).size).toBe(2);
      const made = stateOf(await stack.deployment(), "web").id;
      expect([...emulator.instances.keys()]).toEqual([foreign.id, made]);
      const warnings = result.diagnostics.filter(({ severity }) => severity === "warning");
      expect(warnings.map(({ message }) => message)).toEqual([
        expect.stringContaining(
          `the service lists ${foreign.id} with the same name. The provider doesn't adopt`,
        ),
      ]);
    });
  });
});
