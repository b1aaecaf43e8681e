import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator";
import {
  changesOf,
  expectConverged,
  expectOk,
  noRequestsDuring,
  requestsDuring,
} from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import type { Engine } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";
import { ownStates, stateOf } from "../harness/state";

interface TwoServices extends Scenario {
  readonly there: Emulator;
}

/** Runs `body` with a stack whose configuration names one service, and whose explicit provider names another one. */
async function withTwoServices(
  engine: Engine,
  program: (args: { endpoint: string; token: string }) => string,
  body: (scenario: TwoServices) => Promise<void>,
): Promise<void> {
  const there = await startEmulator({ token: "token-of-the-other-place", behaviour: { operationMs: 100 } });
  try {
    const config = { "theirs:token": { secret: there.token } };
    await withStack(engine, { program: program(there), config }, async (scenario) => {
      scenario.leaks.secret(there.token);
      await body({ ...scenario, there });
    });
  } finally {
    await there.stop();
  }
}

const EU = ({ endpoint }: { endpoint: string }, more = ""): string => `
  const eu = new Provider("eu", { endpoint: "${endpoint}", token: new pulumi.Config("theirs").requireSecret("token") ${more} });
`;

/** The same component on both services. It passes its provider on to its resources. */
const onBothServices = (provider: string, flavor = "small"): string => `
  ${provider}
  class Shop extends pulumi.ComponentResource {
    constructor(name, opts) {
      super("app:Shop", name, {}, opts);
      const parent = this;
      const project = new Project("shop-" + name, { region: "r" }, { parent });
      const fields = { project: project.id, image: "debian", flavor: "${flavor}", network: "n" };
      this.web = new Instance("web-" + name, fields, { parent });
    }
  }
  exports.here = new Shop("here").web.id;
  exports.there = new Shop("there", { providers: [eu] }).web.id;
`;

const counts = ({ projects, instances }: Emulator): number[] => [projects.size, instances.size];
const writes = (requests: readonly string[]): string[] =>
  requests.filter((request) => !request.startsWith("GET "));

describeOnEngines("a default and an explicit provider in one program", (engine) => {
  it("create, refresh, update and delete their own resources, each on its own service", async () => {
    const program = (there: { endpoint: string }, flavor?: string) => onBothServices(EU(there), flavor);
    await withTwoServices(engine, program, async ({ stack, emulator, there, write }) => {
      const preview = () =>
        noRequestsDuring(there, () => noRequestsDuring(emulator, () => stack.run("preview")));
      expect(changesOf(expectOk(await preview()))).toEqual({ create: 8 });
      const { outputs } = expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([outputs.here]);
      expect([...there.instances.keys()]).toEqual([outputs.there]);
      await expectConverged({ stack, emulator });
      await expectConverged({ stack, emulator: there });
      expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({});

      there.edit(String(outputs.there), { flavor: "large" });
      expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({ update: 1 });
      const mended = await requestsDuring(there, () => stack.run("up"));
      expect(changesOf(expectOk(mended.value))).toEqual({ update: 1 });
      expect(writes(mended.requests)).toEqual([`PUT /v1/instances/${outputs.there}`]);

      write(program(there, "large"));
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ update: 2 });
      expectOk(await stack.run("destroy"));
      expect([counts(emulator), counts(there)]).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });
  });
});

describeLongOnEngines("an explicit provider", (engine) => {
  it("can get another token without a replacement", async () => {
    await withTwoServices(
      engine,
      (there) => onBothServices(EU(there)),
      async ({ stack, there, leaks }) => {
        expectOk(await stack.run("up"));
        const token = "another-token-of-the-other-place";
        leaks.secret(token);
        there.changeToken(token);
        await stack.setConfig("theirs:token", { secret: token });
        const { value, requests } = await requestsDuring(there, () => stack.run("up"));
        expect(changesOf(expectOk(value))).toEqual({ update: 1 });
        expect(requests).toEqual([]);
        expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({});
        expectOk(await stack.run("destroy"));
        expect(counts(there)).toEqual([0, 0]);
      },
    );
  });

  it("rejects an update with another endpoint, and changes nothing", async () => {
    await withTwoServices(
      engine,
      (there) => onBothServices(EU(there)),
      async ({ stack, emulator, there, write }) => {
        expectOk(await stack.run("up"));
        write(onBothServices(EU(emulator), "large"));
        const { value, requests } = await requestsDuring(there, () => stack.run("up"));
        expect(value.ok).toBe(false);
        expect(value.output.replace(/\s+/g, " ")).toContain(
          `at ${there.endpoint}, but the endpoint of the provider "eu" is ${emulator.endpoint}`,
        );
        expect(requests).toEqual([]);
        expect([counts(emulator), counts(there)]).toEqual([
          [1, 1],
          [1, 1],
        ]);
      },
    );
  });

  it("rejects a replacement with another endpoint in the preview and in the up", async () => {
    const inRegion = (place: { endpoint: string }, region: string): string => `
      ${EU(place)}
      new Project("shop", { region: "${region}" }, { provider: eu });
    `;
    await withTwoServices(
      engine,
      (there) => inRegion(there, "eu-1"),
      async ({ stack, emulator, there, write }) => {
        expectOk(await stack.run("up"));
        write(inRegion(emulator, "us-1"));
        for (const command of ["preview", "up"] as const) {
          const { ok, output } = await stack.run(command);
          expect(ok).toBe(false);
          expect(output.replace(/\s+/g, " ")).toMatch(
            new RegExp(`the state records \\w+ \\S+ at ${there.endpoint}`),
          );
        }
        expect([counts(emulator), counts(there)]).toEqual([
          [0, 0],
          [1, 0],
        ]);
        write(inRegion(there, "eu-1"));
        const back = await stack.run("up");
        expectOk(back);
        expect(changesOf(back), "only the provider is updated").toEqual({ update: 1 });
      },
    );
  });

  it("serves `get`, functions and imports that name it, and no others", async () => {
    const program = (there: { endpoint: string }) => `${EU(there)} const options = { provider: eu };`;
    await withTwoServices(engine, program, async ({ stack, emulator, there, write }) => {
      const { id: project } = there.addProject({ name: "other", region: "eu" });
      const fields = { project, name: "web", image: "i", flavor: "big", network: "n" };
      const { id } = there.addInstance(fields);
      write(`
        const { getInstances, getInstancesOutput, getProjects, getProjectsOutput } = require("pulumi-cloudinfra");
        ${program(there)}
        exports.found = getInstances({ status: "running" }, options).then((all) => all.map(({ id }) => id));
        exports.foundOutput = getInstancesOutput({ project: "${project}" }, options).apply((all) => all.length);
        exports.projects = getProjects(options).then((all) => all.length);
        exports.projectsOutput = getProjectsOutput(options).apply((all) => all.length);
        exports.own = getProjects().then((all) => all.length);
        exports.looked = Instance.get("look", "${id}", options).flavor;
        new Instance("web", ${JSON.stringify(fields)}, { ...options, import: "${id}" });
      `);
      const { outputs } = expectOk(await stack.run("up"));
      expect(outputs).toEqual({
        ...{ found: [id], foundOutput: 1, projects: 1, projectsOutput: 1, own: 0, looked: "big" },
      });
      expect(stateOf(await stack.deployment(), "web").id).toBe(id);
      expect(counts(emulator)).toEqual([0, 0]);
    });
  });

  it("can have a token that is unknown in the preview", async () => {
    const program = ({ endpoint, token }: { endpoint: string; token: string }) => `
      const { getProjectsOutput, getProjects } = require("pulumi-cloudinfra");
      const issuer = new Project("issuer", { region: "r" });
      const token = pulumi.secret(issuer.id.apply(() => ${JSON.stringify(token)}));
      const eu = new Provider("eu", { endpoint: "${endpoint}", token });
      const project = new Project("there", { region: "r" }, { provider: eu });
      exports.projects = getProjectsOutput({ provider: eu, dependsOn: project }).apply((all) => all.length);
    `;
    await withTwoServices(engine, program, async ({ stack, there, write }) => {
      const preview = await noRequestsDuring(there, () => stack.run("preview"));
      expect(changesOf(expectOk(preview))).toEqual({ create: 4 });
      write(`${program(there)} exports.plain = getProjects({ provider: eu });`);
      const plain = await stack.run("preview");
      expect(plain.output.replace(/\s+/g, " ")).toContain(
        "getProjects: this preview doesn't know the provider's settings yet. Use getProjectsOutput",
      );
      write(program(there));
      expect(expectOk(await stack.run("up")).outputs).toEqual({ projects: 1 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({});
      expectOk(await stack.run("destroy"));
      expect(counts(there)).toEqual([0, 0]);
    });
  });

  it("can take resources from the default provider and return them without a replacement", async () => {
    const own = (provider: string): string => `
      const config = new pulumi.Config("cloudinfra");
      const own = new Provider("own", { endpoint: config.require("endpoint"), token: config.requireSecret("token") });
      const options = { ${provider} };
      const project = new Project("p", { region: "r" }, options);
      new Instance("web", { project: project.id, image: "debian", flavor: "small", network: "n" }, options);
    `;
    await withStack(engine, { program: own("") }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      for (const provider of ["provider: own", ""]) {
        write(own(provider));
        const { value, requests } = await requestsDuring(emulator, () => stack.run("up"));
        expect(changesOf(expectOk(value))).toEqual({});
        expect(requests).toEqual([]);
        await expectConverged({ stack, emulator });
      }
    });
  });

  it("is removed after its resources", async () => {
    await withTwoServices(
      engine,
      (there) => onBothServices(EU(there)),
      async ({ stack, emulator, there, write }) => {
        expectOk(await stack.run("up"));
        write("");
        expectOk(await stack.run("up"));
        expect([counts(emulator), counts(there)]).toEqual([
          [0, 0],
          [0, 0],
        ]);
        expect(ownStates(await stack.deployment())).toEqual([]);
      },
    );
  });

  it("reports the missing argument if it has no token", async () => {
    const program = ({ endpoint }: { endpoint: string }) => `
      const eu = new Provider("eu", { endpoint: "${endpoint}" });
      new Project("p", { region: "r" }, { provider: eu });
    `;
    await withTwoServices(engine, program, async ({ stack, emulator, there }) => {
      const env = { CLOUDINFRA_TOKEN: emulator.token };
      const { ok, output } = await stack.run("up", { env });
      expect(ok).toBe(false);
      expect(output.replace(/\s+/g, " ")).toContain(
        'the required argument `token` of the provider "eu" is not set code config_missing hint: Set the `token` argument of the provider "eu" in the program',
      );
      expect(there.requests).toEqual([]);
    });
  });

  it("shares the stack's journal, so that an instance imported from the default provider is kept", async () => {
    const program = (resource: string): string => `
      const config = new pulumi.Config("cloudinfra");
      const own = new Provider("own", { endpoint: config.require("endpoint"), token: config.requireSecret("token") });
      const project = new Project("p", { region: "r", name: "p" });
      const args = { project: project.id, name: "web", image: "debian", flavor: "small", network: "n" };
      ${resource}
    `;
    const config = { "cloudinfra:journalDir": "notes" };
    const before = { program: program('new Instance("web", args);'), config };
    await withStack(engine, before, async ({ stack, emulator, write, dir }) => {
      expectOk(await stack.run("up"));
      expect(readdirSync(path.join(dir, "notes")).filter((name) => name.endsWith(".jsonl"))).toEqual([]);
      const [id] = emulator.instances.keys();
      write(program(`new Instance("server", args, { provider: own, import: "${id}" });`));
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([id]);
      expect(stateOf(await stack.deployment(), "server").id).toBe(id);
    });
  });

  it("keeps an adopted instance if its process is killed before the deletions of the same command", async () => {
    const tmp = mkdtempSync(path.join(os.tmpdir(), "providers-"));
    onTestFinished(() => rmSync(tmp, { recursive: true, force: true, maxRetries: 3 }));
    const program = (resources: string): string => `
      const config = new pulumi.Config("cloudinfra");
      const own = new Provider("own", { endpoint: config.require("endpoint"), token: config.requireSecret("token") });
      const project = new Project("p", { region: "r", name: "p" });
      const args = { project: project.id, name: "web", image: "debian", flavor: "small", network: "n" };
      ${resources}
    `;
    const before = { program: program('new Instance("web", args);'), env: { TMPDIR: tmp } };
    await withStack(engine, before, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const { id } = stateOf(await stack.deployment(), "web");
      emulator.behaviour.operationMs = 600_000;
      write(
        program(`
          new Instance("server", args, { provider: own, import: "${id}" });
          new Instance("slow", { ...args, name: "slow" });
        `),
      );
      const up = stack.run("up");
      await vi.waitFor(() => process.kill(processThatAdopted(tmp), "SIGKILL"), {
        timeout: 60_000,
        interval: 50,
      });
      emulator.behaviour.operationMs = 0;
      emulator.finishOperations();
      await up;
      expect(emulator.instances.has(String(id))).toBe(true);
      expect(stateOf(await stack.deployment(), "server").id).toBe(id);
    });
  });
});

/** The id of a process that recorded an adoption at least 2 s ago, so that the engine has received its reply. */
function processThatAdopted(tmp: string): number {
  const names = readdirSync(tmp, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((one) => one.endsWith(".facts"))) {
    const file = path.join(tmp, name);
    const isOver = Date.now() - statSync(file).mtimeMs > 2_000;
    if (isOver && readFileSync(file, "utf8").includes('"adopted"'))
      return Number(path.basename(name).split(".")[1]);
  }
  throw new Error("no process has adopted anything");
}
