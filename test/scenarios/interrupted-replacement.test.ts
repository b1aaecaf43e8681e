import { describe, expect, it, vi } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { Deployment, Stack } from "../harness/engine";
import { processEngines, processStack } from "../harness/process-stack";
import { type Scenario, withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { errorsOf, expectOneEach, HELD_MS, programOf, runInterruptedUp, urnOf } from "./interruption";
import { journalOf, killedCreation } from "./killed";

const program = (images: Readonly<Record<string, string>>): string =>
  programOf(Object.fromEntries(Object.entries(images).map(([name, image]) => [name, [`image: "${image}"`]])));

const old = { reverted: "old", wanted: "old", removed: "old", targeted: "old", destroyed: "old" } as const;

const imagesOf = async ({ stack, emulator }: Scenario, names: readonly string[]) => {
  const deployment = await stack.deployment();
  const idOf = (name: string) => stateOf(deployment, name).id ?? "";
  return Object.fromEntries(names.map((name) => [name, emulator.instances.get(idOf(name))?.fields.image]));
};

/** Adds a placeholder that is marked for deletion to the state, as a kill leaves it after the creation was resumed. */
async function addDeletedPlaceholder({ stack, emulator }: Scenario, name: string): Promise<void> {
  const deployment: Deployment = await stack.deployment();
  const resource = stateOf(deployment, name);
  const [operation] = [...emulator.operations.values()].filter(({ resultPath }) =>
    resultPath?.endsWith(`/${resource.id}`),
  );
  const { id = "" } = operation ?? {};
  const pending = { operation: { id, url: `${emulator.endpoint}/operations/${id}` } };
  const placeholder = {
    ...resource,
    id: `operation/${id}`,
    outputs: { ...resource.outputs, __pending: pending },
    delete: true,
  };
  await stack.import({ ...deployment, resources: [...(deployment.resources ?? []), placeholder] });
}

const run = async (stack: Stack, ...args: Parameters<Stack["run"]>) => expectOk(await stack.run(...args));

describeLongOnEngines("an interrupted replacement", (engine) => {
  it("ends with one instance after each command, whether it was killed or failed", async () => {
    await withStack(engine, { program: program(old) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await run(stack, "up");
      const before = await stack.deployment();
      const project = stateOf(before, "p").id ?? "";
      for (const name of Object.keys(old)) {
        const image = name === "targeted" ? "old" : "new";
        const replaces = stateOf(before, name).inputs?.__key;
        const isReplyRecorded = name !== "removed";
        await killedCreation(scenario, name, { project, fields: { image }, isReplyRecorded, replaces });
      }
      emulator.finishOperations();
      expect(emulator.instances.size).toBe(10);

      await addDeletedPlaceholder(scenario, "targeted");
      await run(stack, "up", { targetReplace: [urnOf("targeted")] });
      await run(stack, "destroy", { target: [urnOf("destroyed")] });
      const kept = { reverted: "old", wanted: "new", targeted: "old" };
      write(program(kept));
      await run(stack, "up");
      expect(await imagesOf(scenario, Object.keys(kept))).toEqual(kept);
      expect(stateOf(await stack.deployment(), "reverted").id).toBe(stateOf(before, "reverted").id);
      expect(emulator.instances.size).toBe(3);
      expect(await journalOf(scenario).list()).toEqual([]);

      write(program({ reverted: "newer", wanted: "newer", targeted: "newer" }));
      expect(errorsOf(await runInterruptedUp(scenario))).toMatch(/The state records the unfinished creation/);
      expect(statesOf(await stack.deployment(), "wanted")).toHaveLength(2);
      expect(emulator.instances.size).toBe(6);
      emulator.finishOperations();
      await run(stack, "destroy", { target: [urnOf("targeted")] });
      const last = { reverted: "old", wanted: "newer" };
      write(program(last));
      await run(stack, "up");
      expect(await imagesOf(scenario, Object.keys(last))).toEqual(last);
      await expectOneEach(scenario, Object.keys(last));
    });
  });

  it("keeps the old instance with --continue-on-error until the new one is created", async () => {
    const hurried = (image: string) =>
      programOf({ web: [`image: "${image}"`, 'customTimeouts: { create: "3s" }'] });
    await withStack(engine, { program: hurried("old") }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await run(stack, "up");
      const [former = ""] = emulator.instances.keys();
      emulator.behaviour.operationMs = HELD_MS;
      write(hurried("new"));
      for (const _ of ["creation", "resumption"]) {
        const said = errorsOf(await stack.run("up", { continueOnError: true }));
        expect(said).toContain("The state records the unfinished creation");
        expect([...emulator.instances.keys()]).toEqual([former, expect.any(String)]);
      }
      emulator.behaviour.operationMs = 0;
      emulator.finishOperations();
      const [, latter] = emulator.instances.keys();
      await run(stack, "up");
      expect([...emulator.instances.keys()]).toEqual([latter]);
      await expectOneEach(scenario, ["web"]);
    });
  });

  it("keeps its instance if it is reverted and the resource has retainOnDelete", async () => {
    const retained = (image: string) => programOf({ web: [`image: "${image}"`, "retainOnDelete: true"] });
    await withStack(engine, { program: retained("old") }, async (scenario) => {
      const { stack, emulator } = scenario;
      await run(stack, "up");
      const before = await stack.deployment();
      const { id, inputs } = stateOf(before, "web");
      const project = stateOf(before, "p").id ?? "";
      await killedCreation(scenario, "web", { project, fields: { image: "new" }, replaces: inputs?.__key });
      emulator.finishOperations();
      const ids = [...emulator.instances.keys()];
      expect((await run(stack, "up")).output).toContain("was not deleted, because");
      expect([...emulator.instances.keys()]).toEqual(ids);
      expect(stateOf(await stack.deployment(), "web").id).toBe(id);
      await expectConverged({ stack, emulator });
    });
  });

  it("keeps the instance of an obsolete creation if retainOnDelete is added", async () => {
    await withStack(engine, { program: programOf({ web: [] }) }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      emulator.behaviour.uniqueNames = true;
      await runInterruptedUp(scenario);
      emulator.finishOperations();
      const [first = ""] = emulator.instances.keys();
      write(programOf({ web: ['image: "debian"', "retainOnDelete: true"] }));
      const rejected = emulator.fail({ method: "POST", path: "/v1/instances", kind: "status", status: 422 });
      expect((await stack.run("up")).output).toContain("was not deleted, because");
      rejected.off();
      await run(stack, "up");
      expect([...emulator.instances.keys()]).toEqual([first, stateOf(await stack.deployment(), "web").id]);
      await expectConverged({ stack, emulator });
    });
  });

  it("keeps the instance of an unfinished creation if the state has its id and the resource has retainOnDelete", async () => {
    const retained = (image: string) => programOf({ web: [`image: "${image}"`, "retainOnDelete: true"] });
    await withStack(engine, { program: retained("ubuntu") }, async ({ stack, emulator, write }) => {
      const path = /instances/;
      const unreadable = emulator.fail({ method: "GET", path, kind: "status", status: 403, times: 99 });
      expect((await stack.run("up")).ok).toBe(false);
      unreadable.off();
      const { id } = stateOf(await stack.deployment(), "web");
      expect([...emulator.instances.keys()]).toEqual([id]);
      write(retained("debian"));
      await run(stack, "up");
      expect(stateOf(await stack.deployment(), "web").id).not.toBe(id);
      expect([...emulator.instances.keys()]).toHaveLength(2);
      expect([...emulator.instances.keys()]).toContain(id);
    });
  });
});

/** The engine writes the state only at the end of a command. */
const AT_THE_END = { PULUMI_SKIP_CHECKPOINTS: "1" };

describeLongOnEngines("with PULUMI_SKIP_CHECKPOINTS, a replacement", (engine) => {
  it("succeeds even if the service has purged the operation of the new instance", async () => {
    const behaviour = { operationKeptPolls: 1 };
    await withStack(engine, { program: program({ web: "old" }), behaviour }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await run(stack, "up");
      await run(stack, "up");
      write(program({ web: "new" }));
      await run(stack, "up", { env: AT_THE_END });
      expect(await imagesOf(scenario, ["web"])).toEqual({ web: "new" });
      expect(emulator.instances.size).toBe(1);
      await expectConverged({ stack, emulator });
    });
  });
});

describe.each(processEngines)("with PULUMI_SKIP_CHECKPOINTS, a replacement on %s", (engine) => {
  it("ends with one instance after the next up if it is killed while it deletes the old instance", async () => {
    const env = (image: string) => ({ env: { ...AT_THE_END, IMAGE: image } });
    const stack = await processStack(
      engine,
      `const project = new Project("p", { region: "eu-1" });
       new Instance("web", { project: project.id, image: process.env.IMAGE, flavor: "small", network: "n" });`,
    );
    const { emulator } = stack;
    for (const _ of [1, 2]) expect((await stack.start("up", undefined, env("old")).ended).code).toBe(0);
    let isDeleting = false;
    const isDeletion = (): boolean => {
      isDeleting = true;
      return true;
    };
    emulator.fail({ kind: "slow", delayMs: 60_000, method: "DELETE", when: isDeletion });
    const killed = stack.start("up", undefined, env("new"));
    await vi.waitFor(() => expect(isDeleting).toBe(true), { timeout: 60_000, interval: 20 });
    await killed.signalAll("SIGKILL");
    await killed.ended;
    await stack.unlock();
    const { code, output } = await stack.start("up", undefined, env("new")).ended;
    expect(code, output).toBe(0);
    expect(statesOf(stack.state(), "web").map(({ id }) => id)).toEqual([...emulator.instances.keys()]);
    expect(emulator.instances.size).toBe(1);
  }, 240_000);
});
