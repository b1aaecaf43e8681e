import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import { type Scenario, withStack } from "../harness/scenario";
import { isSecret, stateOf, statesOf } from "../harness/state";
import { errorsOf, HELD_MS, postsOf, requestsOf, urnOf } from "./cut-off";

const program = (args = "", options = 'customTimeouts: { create: "1500ms" }'): string => `
  const project = new Project("p", { region: "eu-1" });
  const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
  new Instance("web", { ...args, ${args} }, { ${options} });
`;

/** An `up` whose instance was accepted and is not made in time. */
async function cutOff({ stack, emulator }: Scenario): Promise<void> {
  const error = errorsOf(await stack.run("up"));
  expect(error).toMatch(/timed\s+out\s+after\s.*\swaiting\s+for\s+operation\s+op-[0-9a-f]+/);
  expect(error).toMatch(/Run `pulumi up` again, on any machine/);
  const web = stateOf(await stack.deployment(), "web");
  expect(web.id).toMatch(/^operation\/op-/);
  expect(isSecret(web.outputs?.__pending), "what was sent may hold secrets").toBe(true);
  emulator.behaviour.operationMs = 100;
}

/** The service holds one instance, and the state knows it. */
async function expectOne({ stack, emulator }: Scenario): Promise<string> {
  const [id = "", ...others] = emulator.instances.keys();
  expect(others).toEqual([]);
  expect(statesOf(await stack.deployment(), "web").map((resource) => resource.id)).toEqual([id]);
  await expectConverged({ stack, emulator });
  return id;
}

describeOnEngines("a creation that was cut off after the service accepted it", (engine) => {
  const options = { program: program(), behaviour: { operationMs: HELD_MS } };

  it("goes on with the next up, which makes nothing twice, on this machine and on another", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await cutOff(scenario);
      const preview = expectOk(await stack.run("preview"));
      expect(preview.diagnostics.map(({ message }) => message).join("\n") + preview.output).toMatch(
        /resuming its creation/,
      );
      emulator.finishOperations();
      expectOk(await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: "another-machine" } }));
      expect(postsOf(emulator)).toHaveLength(1);
      await expectOne(scenario);
      expectOk(await stack.run("destroy"));
      expect(emulator.instances.size).toBe(0);
    });
  });

  it("is found by a refresh once it is done, and taken out of the state where it failed", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await cutOff(scenario);
      expectOk(await stack.run("refresh"));
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\//);
      emulator.finishOperations();
      expectOk(await stack.run("refresh"));
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^ins-/);
      expectOk(await stack.run("up"));
      await expectOne(scenario);
    });
  });

  it("whose operation then fails is made anew by the next up", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      emulator.failNextOperation({ kind: "create" });
      await cutOff(scenario);
      emulator.finishOperations();
      expectOk(await stack.run("up"));
      await expectOne(scenario);
    });
  });

  it.each(["destroy", "removed from the program", "destroy with refresh"])(
    "leaves nothing at the service: %s",
    async (how) => {
      await withStack(engine, options, async (scenario) => {
        const { stack, emulator, write } = scenario;
        await cutOff(scenario);
        emulator.finishOperations();
        if (how === "removed from the program") write('new Project("p", { region: "eu-1" });');
        const command = how === "removed from the program" ? "up" : "destroy";
        expectOk(await stack.run(command, { refresh: how === "destroy with refresh" }));
        expect(emulator.instances.size).toBe(0);
        expect(statesOf(await stack.deployment(), "web")).toEqual([]);
      });
    },
  );

  it("survives a targeted replacement with one object", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await cutOff(scenario);
      emulator.finishOperations();
      expectOk(await stack.run("up", { targetReplace: [urnOf("web")] }));
      await expectOne(scenario);
    });
  });
});

describeLongOnEngines("a creation whose answer was lost", (engine) => {
  it("is repeated with the same key and body by the next up, on any machine, and nothing is made twice", async () => {
    await withStack(engine, { program: program() }, async (scenario) => {
      const { stack, emulator } = scenario;
      const lost = emulator.fail({
        method: "POST",
        path: "/v1/instances",
        kind: "lost-reply",
        times: Number.POSITIVE_INFINITY,
      });
      expect(errorsOf(await stack.run("up"))).toMatch(/The request may have been carried out/);
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\/key-/);
      lost.off();
      expectOk(await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: "another-machine" } }));
      expect(requestsOf(emulator).size).toBe(1);
      await expectOne(scenario);
    });
  });
});

describeLongOnEngines("an update that was cut off after the service accepted it", (engine) => {
  it("is waited for by the next up, and then is as the program wants it", async () => {
    const behaviour = { putReply: 202, operationMs: 100 } as const;
    const source = (flavor: string, update = "1500ms"): string =>
      program(`flavor: "${flavor}"`, `customTimeouts: { update: "${update}" }`);
    await withStack(engine, { program: source("small"), behaviour }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      expectOk(await stack.run("up"));
      emulator.behaviour.operationMs = HELD_MS;
      write(source("large"));
      expect(errorsOf(await stack.run("up"))).toMatch(/is still in progress/);
      emulator.behaviour.operationMs = 100;
      emulator.finishOperations();
      write(source("large", "5m"));
      expectOk(await stack.run("up"));
      const id = await expectOne(scenario);
      expect(emulator.instances.get(id)?.fields.flavor).toBe("large");
    });
  });
});
