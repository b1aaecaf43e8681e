import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import type { RunResult } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";

const program = (args: string): string => `
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", { project: project.id, image: "ubuntu", network: "n", labels: { team: "web" }, ${args} });
`;
const small = program('flavor: "small"');
const large = program('flavor: "large"');

/** Creates the instance and runs `body` with its id. */
async function withInstance(scenario: Scenario, body: (id: string) => Promise<void>): Promise<void> {
  expectOk(await scenario.stack.run("up"));
  await body(stateOf(await scenario.stack.deployment(), "web").id ?? "");
}

/** The errors of a failed command about the instance, with wrapped lines joined. */
function errorOf(result: RunResult): string {
  expect(result.ok).toBe(false);
  return result.diagnostics
    .filter(({ severity, urn }) => severity === "error" && urn?.endsWith("::web"))
    .map(({ message }) => message.replaceAll(/\n {4,}/g, " "))
    .join("\n");
}

describeOnEngines("an update of an instance that somebody else has changed", (engine) => {
  it("is rejected with a table of state, service and program if a managed property changed", async () => {
    await withStack(engine, { program: small }, async (scenario) => {
      await withInstance(scenario, async (id) => {
        const { stack, emulator, write } = scenario;
        emulator.edit(id, { network: "theirs", labels: { team: "theirs", owner: "ops" } });
        const theirs = structuredClone(emulator.instances.get(id)?.fields);
        write(large);
        for (const _ of [1, 2]) {
          const error = errorOf(await stack.run("up"));
          expect(error).toContain(`another client changed network, labels.team of instance ${id}`);
          expect(
            error
              .split("\n")
              .slice(1, 5)
              .map((line) => line.trim()),
          ).toEqual([
            "property     in your state  now in the service  desired",
            "flavor       small          small               large",
            "network      n              theirs              n",
            "labels.team  web            theirs              web",
          ]);
          expect(error).toMatch(/hint: To apply .*\s+run\s+`pulumi\s+refresh\s+--target\s+<urn>`/);
          expect(emulator.instances.get(id)?.fields).toEqual(theirs);
        }
        expectOk(await stack.run("refresh"));
        expectOk(await stack.run("up"));
        expect(emulator.instances.get(id)?.fields).toMatchObject({
          ...{ network: "n", flavor: "large", labels: { team: "web", owner: "ops" } },
        });
        await expectConverged(scenario);
      });
    });
  });

  it("succeeds and keeps their changes if only unmanaged fields changed", async () => {
    await withStack(engine, { program: small }, async (scenario) => {
      await withInstance(scenario, async (id) => {
        const { stack, emulator, write } = scenario;
        emulator.edit(id, { status: "stopped", labels: { team: "web", owner: "ops" }, backup: "daily" });
        write(large);
        expectOk(await stack.run("up"));
        expect(emulator.instances.get(id)?.fields).toMatchObject({
          ...{ flavor: "large", backup: "daily", labels: { team: "web", owner: "ops" } },
        });
        await expectConverged(scenario);
        expectOk(await stack.run("refresh"));
        await expectConverged(scenario);
      });
    });
  });

  it("succeeds if they have made the same change", async () => {
    await withStack(engine, { program: small }, async (scenario) => {
      await withInstance(scenario, async (id) => {
        const { stack, emulator, write } = scenario;
        emulator.edit(id, { flavor: "large" });
        write(large);
        expectOk(await stack.run("up"));
        await expectConverged(scenario);
      });
    });
  });

  it("hides secrets in the table", async () => {
    const secret = (flavor: string): string => program(`flavor: pulumi.secret("${flavor}")`);
    await withStack(engine, { program: secret("hush-1") }, async (scenario) => {
      await withInstance(scenario, async (id) => {
        const { stack, emulator, write } = scenario;
        emulator.edit(id, { flavor: "hush-theirs" });
        write(secret("hush-2"));
        const result = await stack.run("up");
        expect(errorOf(result)).toMatch(/flavor +\[secret\] +\[secret\] +\[secret\]/);
        expect(result.output + errorOf(result)).not.toContain("hush");
      });
    });
  });
});

describeLongOnEngines("an update whose reply is lost", (engine) => {
  it("is recognized as applied and saved in the state", async () => {
    await withStack(engine, { program: small }, async (scenario) => {
      await withInstance(scenario, async (id) => {
        const { stack, emulator, write } = scenario;
        emulator.fail({ method: "PUT", kind: "lost-reply" });
        write(large);
        expectOk(await stack.run("up"));
        expect(
          emulator.requests.filter(({ method }) => method === "PUT").map(({ status }) => status),
        ).toEqual([0, 412]);
        expect(inClear(stateOf(await stack.deployment(), "web").outputs)).toMatchObject({
          flavor: "large",
          revision: emulator.instances.get(id)?.revision,
        });
        await expectConverged(scenario);
      });
    });
  });
});
