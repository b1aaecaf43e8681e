import { expect, it } from "vitest";
import { changesOf, expectOk, noRequestsDuring } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";

const FUNCTIONS =
  'const { getInstances, getInstancesOutput, getProjects, getProjectsOutput } = require("pulumi-cloudinfra");';

const PROGRAM = `
  ${FUNCTIONS}
  const project = new Project("shop", { name: "shop", region: "eu-1" });
  const web = new Instance("web", { project: project.id, name: "web", image: "debian", flavor: "s", network: "n", labels: { tier: "a" } });
  const found = getInstancesOutput({ project: project.id, status: "running", labels: { tier: "a" } }, { dependsOn: web });
  exports.found = found.apply((all) => all.map(({ id, name, labels, status, ipAddress }) => ({ id, name, labels, status, ipAddress })));
  exports.web = web.id;
  exports.projects = getProjectsOutput({ dependsOn: [project] }).apply((all) => all.map(({ name, region }) => ({ name, region })));
`;

const IMMEDIATE = `
  ${FUNCTIONS}
  exports.instances = getInstances({ labels: { tier: "b" } });
  exports.projects = getProjects().then((all) => all.length);
`;

/** Functions that depend on an instance in a nested component. */
const IN_COMPONENTS = `
  ${FUNCTIONS}
  class Inner extends pulumi.ComponentResource {
    constructor(name, project, opts) {
      super("test:Inner", name, {}, opts);
      new Instance("web", { project, image: "debian", flavor: "s", network: "n" }, { parent: this });
    }
  }
  class Outer extends pulumi.ComponentResource {
    constructor(name) {
      super("test:Outer", name);
      const project = new Project("shop", { region: "eu-1" }, { parent: this });
      new Inner("inner", project.id, { parent: this });
    }
  }
  const dependsOn = new Outer("outer");
  exports.instances = getInstancesOutput({}, { dependsOn }).apply((all) => all.length);
  exports.projects = getProjectsOutput({ dependsOn: Promise.resolve([dependsOn]) }).apply((all) => all.length);
`;

/** An instance with a label that repeats the flavor of another instance. */
const following = (flavor: string): string => `
  ${FUNCTIONS}
  const project = new Project("shop", { region: "eu-1" });
  const args = { project: project.id, image: "debian", network: "n" };
  const first = new Instance("first", { ...args, name: "first", flavor: "${flavor}" });
  const found = getInstancesOutput({ project: project.id }, { dependsOn: first });
  const like = found.apply((all) => all.find(({ name }) => name === "first").flavor);
  new Instance("second", { ...args, flavor: "s", labels: { like } });
`;

const WRONG_ARGUMENT = `
  ${FUNCTIONS}
  exports.instances = getInstancesOutput({ labels: { env: process.env.NO_SUCH_VARIABLE } });
`;

describeLongOnEngines("functions", (engine) => {
  it("wait for their dependencies, and send no requests in a preview that creates them", async () => {
    await withStack(engine, { program: PROGRAM }, async ({ stack, emulator }) => {
      const other = emulator.addProject({ name: "other", region: "us-1" }).id;
      const foreign = {
        project: other,
        name: "web",
        image: "i",
        flavor: "s",
        network: "n",
        labels: { tier: "a" },
      };
      emulator.addInstance(foreign);
      const preview = await noRequestsDuring(emulator, () => stack.run("preview"));
      expect(changesOf(expectOk(preview))).toEqual({ create: 3 });
      const { outputs } = expectOk(await stack.run("up"));
      expect(outputs.found).toEqual([
        expect.objectContaining({ id: outputs.web, name: "web", labels: { tier: "a" }, status: "running" }),
      ]);
      expect(outputs.projects).toHaveLength(2);
      expect(outputs.projects).toContainEqual({ name: "other", region: "us-1" });
    });
  });

  it("return all pages, and report a missing setting", async () => {
    const behaviour = { pageSize: 2 };
    await withStack(engine, { program: IMMEDIATE, behaviour }, async ({ stack, emulator }) => {
      const { id: project } = emulator.addProject({ name: "other", region: "us-1" });
      const fields = {
        project,
        image: "i",
        flavor: "s",
        network: "n",
        ssh_keys: ["ssh-rsa AAAA"],
        labels: { tier: "b" },
      };
      for (const name of ["a", "b", "c", "d", "e"]) emulator.addInstance({ ...fields, name });
      const { outputs } = expectOk(await stack.run("up"));
      expect(outputs.projects).toBe(1);
      expect(outputs.instances).toHaveLength(5);
      expect(outputs.instances).toContainEqual(
        expect.objectContaining({ name: "e", image: "i", sshKeys: ["ssh-rsa AAAA"], project }),
      );
      await stack.removeConfig("cloudinfra:token");
      const refused = await stack.run("preview");
      expect(refused.ok).toBe(false);
      const words = refused.diagnostics.map(({ message }) => message).join("\n");
      expect(words).toMatch(
        /listing (instances|projects) failed: the required setting cloudinfra:token is not set/,
      );
      expect(words).toContain("pulumi config set --secret cloudinfra:token");
      expect(words).not.toMatch(/\n\s+at /);
    });
  });

  it("wait for all resources in a component, and send no requests in a preview that creates it", async () => {
    await withStack(engine, { program: IN_COMPONENTS }, async ({ stack, emulator }) => {
      expectOk(await noRequestsDuring(emulator, () => stack.run("preview")));
      const { outputs } = expectOk(await stack.run("up"));
      expect(outputs).toMatchObject({ instances: 1, projects: 1 });
    });
  });

  it("are unknown in a preview that updates their dependencies, which then shows the same changes as `up`", async () => {
    await withStack(engine, { program: following("s") }, async ({ stack, write }) => {
      expectOk(await stack.run("up"));
      expect(changesOf(expectOk(await stack.run("preview")))).toEqual({});
      write(following("m"));
      const preview = changesOf(expectOk(await stack.run("preview")));
      expect(preview).toMatchObject({ update: 2 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual(preview);
    });
  });

  it("reject a label whose value is undefined, without sending a request", async () => {
    await withStack(engine, { program: WRONG_ARGUMENT }, async ({ stack, emulator }) => {
      const failed = await noRequestsDuring(emulator, () => stack.run("preview"));
      expect(failed.ok).toBe(false);
      const words = failed.diagnostics.map(({ message }) => message).join("\n");
      expect(words).toContain("listing instances failed: labels.env: must be a string, but is undefined");
    });
  });
});
