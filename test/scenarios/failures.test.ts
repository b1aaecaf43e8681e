import { expect, it } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import type { RunResult } from "../harness/engine";
import { withStack } from "../harness/scenario";
import { statesOf } from "../harness/state";
import { failedStatuses } from "./variants";

const program = (flavor = "small", options = ""): string => `
  const project = new Project("p", { region: "eu-1" });
  const args = { project: project.id, image: "ubuntu", network: "n" };
  new Instance("web", { ...args, flavor: "${flavor}" }, { ${options} });
`;

/** The errors of a failed command about the resource with this name, with wrapped lines joined. */
function errorOf(result: RunResult, name: string): string {
  expect(result.ok).toBe(false);
  const messages = result.diagnostics.filter(
    ({ severity, urn }) => severity === "error" && urn?.endsWith(`::${name}`),
  );
  return messages.map(({ message }) => message.replaceAll(/\n {4,}/g, " ")).join("\n");
}

describeOnEngines("a failing creation", (engine) => {
  it("reports the rejected property and the service's reason, and a corrected program succeeds", async () => {
    await withStack(engine, { program: program("unknown-huge") }, async ({ stack, emulator, write }) => {
      const error = errorOf(await stack.run("up"), "web");
      expect(error).toMatch(/^creating instance "web" failed: validation_failed \(422\)/m);
      expect(error).toMatch(/^ {2}flavor: flavor 'unknown-huge' does not exist/m);
      expect(error).toMatch(/POST \/v1\/instances · trace tr-\d+/);
      expect(statesOf(await stack.deployment(), "web")).toEqual([]);
      expect(emulator.instances.size).toBe(0);
      write(program("small"));
      expectOk(await stack.run("up"));
      expect(emulator.instances.size).toBe(1);
    });
  });

  it("reports the service's reason and saves nothing if its operation fails with any final status", async () => {
    const many = `
      const project = new Project("p", { region: "eu-1" });
      for (const name of ${JSON.stringify(failedStatuses)})
        new Instance(name, { project: project.id, image: "ubuntu", flavor: "small", network: "n" }, { dependsOn: [project] });
    `;
    await withStack(engine, { program: many }, async ({ stack, emulator }) => {
      const problem = { code: "no_capacity", title: "No capacity", detail: "no host has room for small" };
      // One command for each status, because the emulator has only one at a time.
      for (const failedStatus of failedStatuses) {
        emulator.behaviour.failedStatus = failedStatus;
        for (let i = 0; i < failedStatuses.length; i++)
          emulator.failNextOperation({ kind: "create", problem });
        const urn = `urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::${failedStatus}`;
        const project = "urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Project::p";
        const error = errorOf(await stack.run("up", { target: [urn, project] }), failedStatus);
        expect(error).toMatch(/no host has room for small/);
        expect(error).toMatch(/op-[0-9a-f]+/);
        expect(statesOf(await stack.deployment(), failedStatus)).toEqual([]);
      }
    });
  });

  it("reports operation, status, progress and elapsed time if it times out", async () => {
    const options = {
      program: program("small", 'customTimeouts: { create: "1500ms" }'),
      behaviour: { operationMs: 600_000 },
    };
    await withStack(engine, options, async ({ stack }) => {
      const error = errorOf(await stack.run("up"), "web");
      expect(error).toMatch(/timed out after 2 s waiting for operation op-[0-9a-f]+/);
      expect(error).toMatch(/running, 0%/);
      expect(error).toMatch(/customTimeouts/);
    });
  });

  it("reports a service that is down and a missing or wrong setting", async () => {
    const soon = 'customTimeouts: { create: "5s" }';
    const source = `new Project("p", { region: "eu-1" }, { ${soon} });`;
    await withStack(engine, { program: source }, async ({ stack, emulator }) => {
      const token = emulator.token;
      await stack.removeConfig("cloudinfra:token");
      expect(errorOf(await stack.run("up"), "p")).toMatch(
        /cloudinfra:token is not set.*\n.*\n.*pulumi config set --secret cloudinfra:token/,
      );

      await stack.setConfig("cloudinfra:token", { secret: "wrong-token-42" });
      const refused = await stack.run("up");
      expect(errorOf(refused, "p")).toMatch(
        /rejected the token from the stack setting cloudinfra:token \(401\)/,
      );
      expect(refused.output).not.toContain("wrong-token-42");
      await stack.setConfig("cloudinfra:token", { secret: token });

      await stack.setConfig("cloudinfra:endpoint", "ftp://nowhere");
      expect(errorOf(await stack.run("up"), "p")).toMatch(/cloudinfra:endpoint/);
      await stack.setConfig("cloudinfra:endpoint", emulator.endpoint);

      const html = emulator.fail({ kind: "html", status: 200, times: Number.POSITIVE_INFINITY });
      expect(errorOf(await stack.run("up"), "p")).toMatch(/cloudinfra:endpoint/);
      html.off();

      await emulator.pause();
      expect(errorOf(await stack.run("up"), "p")).toMatch(/the service can't be reached/);
      await emulator.resume();

      expectOk(await stack.run("up"));
      expect(emulator.projects.size).toBe(1);
      await expectConverged({ stack, emulator });
    });
  });
});

describeOnEngines("a failing update", (engine) => {
  it("overwrites nothing if somebody else changed the instance, and succeeds after a refresh", async () => {
    await withStack(engine, { program: program("small") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const id = [...emulator.instances.keys()][0] ?? "";
      emulator.edit(id, { network: "theirs" });
      write(program("large"));
      const error = errorOf(await stack.run("up"), "web");
      expect(error).toMatch(/another client changed network/);
      expect(error).toMatch(/pulumi refresh/);
      expect(emulator.instances.get(id)?.fields).toMatchObject({ network: "theirs", flavor: "small" });
      expectOk(await stack.run("refresh"));
      expectOk(await stack.run("up"));
      expect(emulator.instances.get(id)?.fields).toMatchObject({ network: "n", flavor: "large" });
      await expectConverged({ stack, emulator });
    });
  });

  it("fails on each up if the service accepts the change without applying it", async () => {
    await withStack(engine, { program: program("small") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      emulator.ignoreUpdatesOf("flavor");
      write(program("large"));
      for (const _ of [1, 2]) {
        const error = errorOf(await stack.run("up"), "web");
        expect(error).toMatch(/accepted the update, but did not change flavor/);
        expect(error).toMatch(/replaceOnChanges: \["flavor"\]/);
      }
      write(program("small"));
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });
    });
  });

  it("suggests replaceOnChanges for a property that the service can't update", async () => {
    await withStack(engine, { program: program("small") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      emulator.refuseUpdatesOf("flavor");
      write(program("large"));
      const error = errorOf(await stack.run("up"), "web");
      expect(error).toMatch(/flavor: flavor cannot be changed in place/);
      expect(error).toMatch(/replaceOnChanges.*flavor|flavor.*replaceOnChanges/);
      write(program("large", 'replaceOnChanges: ["flavor"]'));
      expectOk(await stack.run("up"));
      expect([...emulator.instances.values()].map(({ fields }) => fields.flavor)).toEqual(["large"]);
    });
  });
});
