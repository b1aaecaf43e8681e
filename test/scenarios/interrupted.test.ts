import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import { type Scenario, withStack } from "../harness/scenario";
import { isSecret, stateOf, statesOf } from "../harness/state";
import { errorsOf, HELD_MS, postsOf, requestsOf, urnOf } from "./interruption";

const program = (args = "", options = 'customTimeouts: { create: "1500ms" }'): string => `
  const project = new Project("p", { region: "eu-1" });
  const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
  new Instance("web", { ...args, ${args} }, { ${options} });
`;

/** Runs an `up` that times out after the service has accepted the creation, and then gives the program a longer timeout. */
async function runTimedOutUp({ stack, emulator, write }: Scenario): Promise<void> {
  const error = errorsOf(await stack.run("up"));
  expect(error).toMatch(/timed\s+out\s+after\s.*\swaiting\s+for\s+operation\s+op-[0-9a-f]+/);
  expect(error).toMatch(/Run `pulumi up` again on any machine/);
  const web = stateOf(await stack.deployment(), "web");
  expect(web.id).toMatch(/^operation\/op-/);
  expect(isSecret(web.outputs?.__pending), "the request may contain secrets").toBe(true);
  emulator.behaviour.operationMs = 100;
  write(program("", 'customTimeouts: { create: "5m" }'));
}

/** Expects that the service has one instance, which is in the state. Returns its id. */
async function expectOne({ stack, emulator }: Scenario): Promise<string> {
  const [id = "", ...others] = emulator.instances.keys();
  expect(others).toEqual([]);
  expect(statesOf(await stack.deployment(), "web").map((resource) => resource.id)).toEqual([id]);
  await expectConverged({ stack, emulator });
  return id;
}

describeOnEngines("a creation that timed out after the service accepted it", (engine) => {
  const options = { program: program(), behaviour: { operationMs: HELD_MS } };

  it("is resumed by the next up on another machine, without duplicates", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await runTimedOutUp(scenario);
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

  it("is completed by a refresh after its operation has finished", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await runTimedOutUp(scenario);
      expectOk(await stack.run("refresh"));
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\//);
      emulator.finishOperations();
      expectOk(await stack.run("refresh"));
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^ins-/);
      expectOk(await stack.run("up"));
      await expectOne(scenario);
    });
  });

  it("is recreated by the next up if its operation fails", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      emulator.failNextOperation({ kind: "create" });
      await runTimedOutUp(scenario);
      emulator.finishOperations();
      expectOk(await stack.run("up"));
      await expectOne(scenario);
    });
  });

  it.each(["destroy", "its removal from the program", "destroy with refresh"])(
    "leaves no instance behind after %s",
    async (how) => {
      await withStack(engine, options, async (scenario) => {
        const { stack, emulator, write } = scenario;
        await runTimedOutUp(scenario);
        emulator.finishOperations();
        if (how === "its removal from the program") write('new Project("p", { region: "eu-1" });');
        const command = how === "its removal from the program" ? "up" : "destroy";
        expectOk(await stack.run(command, { refresh: how === "destroy with refresh" }));
        expect(emulator.instances.size).toBe(0);
        expect(statesOf(await stack.deployment(), "web")).toEqual([]);
      });
    },
  );

  it("ends with one instance after a targeted replacement", async () => {
    await withStack(engine, options, async (scenario) => {
      const { stack, emulator } = scenario;
      await runTimedOutUp(scenario);
      emulator.finishOperations();
      expectOk(await stack.run("up", { targetReplace: [urnOf("web")] }));
      await expectOne(scenario);
    });
  });
});

describeLongOnEngines("a creation whose reply was lost", (engine) => {
  it("is retried with the same key and body by the next up on another machine", async () => {
    await withStack(engine, { program: program() }, async (scenario) => {
      const { stack, emulator } = scenario;
      const lost = emulator.fail({
        method: "POST",
        path: "/v1/instances",
        kind: "lost-reply",
        times: Number.POSITIVE_INFINITY,
      });
      expect(errorsOf(await stack.run("up"))).toMatch(/The request may have succeeded/);
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\/key-/);
      lost.off();
      expectOk(await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: "another-machine" } }));
      expect(requestsOf(emulator).size).toBe(1);
      await expectOne(scenario);
    });
  });
});

describeLongOnEngines("an update that timed out after the service accepted it", (engine) => {
  it("is completed by the next up, which waits for its operation", async () => {
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
