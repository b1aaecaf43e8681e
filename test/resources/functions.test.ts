import { inspect } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
  type GetInstancesResult,
  getInstances,
  getInstancesOutput,
  getProjects,
  getProjectsOutput,
  isCloudInfraError,
  Project,
  Provider,
} from "../../src";
import { type Emulator, startEmulator } from "../../src/emulator";
import { resolved } from "../../src/resources/sdk";
import { registered } from "./registered";

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator();
  pulumi.runtime.setAllConfig(
    {
      "cloudinfra:endpoint": emulator.endpoint,
      "cloudinfra:token": emulator.token,
    },
    ["cloudinfra:token"],
  );
});
afterAll(async () => {
  pulumi.runtime.setAllConfig({});
  await emulator.stop();
});

const late = (): unknown => new Project("late", { region: "eu-1" });

test.each<[string, () => unknown]>([
  ["getInstances", () => void getInstances().then(late)],
  ["getProjects", () => void getProjects().then(late)],
  ["getInstancesOutput", () => getInstancesOutput().apply(late)],
  ["getProjectsOutput", () => getProjectsOutput().apply(late)],
  [
    "getInstancesOutput with a dependency",
    () => getInstancesOutput({}, { dependsOn: new Project("first", { region: "eu-1" }) }).apply(late),
  ],
])(
  "an inline program waits for the result of %s and for the resources that it declares then",
  async (_name, program) => {
    const names = (await registered(program)).map(({ name }) => name);
    expect(names).toContain("late");
  },
);

test("a function uses the provider of a component under any name", async () => {
  const other = await startEmulator();
  onTestFinished(() => other.stop());
  other.addProject({ name: "in-eu", region: "eu-1" });
  const names: unknown[] = [];
  await registered(() => {
    const eu = new Provider("eu", { endpoint: other.endpoint, token: other.token });
    for (const providers of [[eu], { eu }, { "pulumi-nodejs": eu }]) {
      const parent = new pulumi.ComponentResource("test:Site", `site-${names.length}`, {}, { providers });
      getProjectsOutput({ parent }).apply((all) => names.push(...all.map(({ name }) => name)));
    }
  });
  expect(names).toEqual(["in-eu", "in-eu", "in-eu"]);
});

test("a function uses the emulator of the tests, even if `envVarMappings` names another service", async () => {
  vi.stubEnv("CLOUDINFRA_EMULATED", "true");
  vi.stubEnv("CLOUDINFRA_ENDPOINT", emulator.endpoint);
  vi.stubEnv("CLOUDINFRA_TOKEN", emulator.token);
  vi.stubEnv("EU_ENDPOINT", "http://127.0.0.1:9");
  onTestFinished(() => void vi.unstubAllEnvs());
  let count: number | undefined;
  await registered(() => {
    const provider = new Provider("eu", {}, { envVarMappings: { EU_ENDPOINT: "CLOUDINFRA_ENDPOINT" } });
    getProjectsOutput({ provider }).apply((all) => {
      count = all.length;
    });
  });
  expect(count).toBe(emulator.projects.size);
});

test("a function uses the variables in the option `envVarMappings` of its provider", async () => {
  const other = await startEmulator();
  const variables = { EU_ENDPOINT: other.endpoint, EU_TOKEN: other.token };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await other.stop();
  });
  other.addProject({ name: "in-eu", region: "eu-1" });
  let names: unknown;
  await registered(() => {
    const envVarMappings = { EU_ENDPOINT: "CLOUDINFRA_ENDPOINT", EU_TOKEN: "CLOUDINFRA_TOKEN" };
    const provider = new Provider("eu", {}, { envVarMappings });
    getProjectsOutput({ provider }).apply((all) => {
      names = all.map(({ name }) => name);
    });
  });
  expect(names).toEqual(["in-eu"]);
});

test("an inline program ends if a function fails", async () => {
  let failure: unknown;
  const program = (): void => {
    const wrong: Record<string, string> = JSON.parse('{ "env": 1 }');
    getInstances({ labels: wrong }).catch((error: unknown) => {
      failure = error;
    });
    const found: pulumi.Output<GetInstancesResult> = getInstancesOutput({ labels: wrong });
    pulumi.recover(found, () => []);
  };
  expect(await registered(program)).toEqual([]);
  expect(failure).toMatchObject({ message: expect.stringContaining("labels.env: must be a string") });
});

test("the failure of a function that the program doesn't await is an unhandled rejection, which makes the program fail", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.once("unhandledRejection", resolve);
  onTestFinished(() => {
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });
  const wrong: Record<string, string> = JSON.parse('{ "env": 1 }');
  await registered(() => void getInstances({ labels: wrong }));
  expect(await promise).toMatchObject({ message: expect.stringContaining("labels.env: must be a string") });
});

test("errors of getInstancesOutput contain no secret filters, but other filters", async () => {
  const detail = 'no label has the value "hunter2-of-the-backend" in the project "shop"';
  const fault = emulator.fail({
    kind: "status",
    status: 422,
    method: "GET",
    times: 9,
    problem: { code: "wrong", detail },
  });
  const pw = pulumi.secret("hunter2-of-the-backend");
  let failure: unknown;
  await registered(async () => {
    const found: pulumi.Output<GetInstancesResult> = getInstancesOutput({ project: "shop", labels: { pw } });
    pulumi.recover(found, () => []);
    failure = await resolved(found).catch((error: unknown) => error);
  });
  fault.off();
  expect(failure).toMatchObject({
    message: expect.stringContaining('no label has the value "[secret]" in the project "shop"'),
  });
});

test.each([
  ["of the check", { "pw 7": "x" }, "labels: a label key must not be empty"],
  ["of the service", { ACME: "x" }, "labels: must be in lower case"],
])("an error %s about secret labels contains none of their keys", async (_, labels, words) => {
  const errors = [{ field: "label.ACME", detail: "must be in lower case" }];
  const fault = emulator.fail({
    ...{ kind: "status", status: 422, method: "GET", times: 9 },
    problem: { code: "wrong", errors },
  });
  let failure: unknown;
  await registered(async () => {
    const found: pulumi.Output<GetInstancesResult> = getInstancesOutput({ labels: pulumi.secret(labels) });
    pulumi.recover(found, () => []);
    failure = await resolved(found).catch((error: unknown) => error);
  });
  fault.off();
  expect(failure).toMatchObject({ message: expect.stringContaining(words) });
  expect(failure).toMatchObject({ message: expect.not.stringMatching(/pw 7|ACME/) });
});

test("getInstances omits instances that no longer exist but that the service still lists", async () => {
  const { id } = emulator.addInstance();
  const ids = async () => (await getInstances()).map((found) => found.id);
  expect(await ids()).toContain(id);
  emulator.edit(id, { status: "TERMINATED" });
  expect(await ids()).not.toContain(id);
});

test("an error of a function keeps its code, the problem document and the cause, without secrets", async () => {
  const detail = "the label hunter2-of-the-backend is not allowed";
  const fault = emulator.fail({
    ...{ kind: "status", status: 422, method: "GET", times: 9 },
    problem: { code: "wrong", detail },
  });
  let failure: unknown;
  await registered(async () => {
    const pw = pulumi.secret("hunter2-of-the-backend");
    const found: pulumi.Output<GetInstancesResult> = getInstancesOutput({ labels: { pw } });
    pulumi.recover(found, () => []);
    failure = await resolved(found).catch((error: unknown) => error);
  });
  fault.off();
  expect(isCloudInfraError(failure)).toBe(true);
  const problem = { status: 422, code: "wrong", detail: "the label [secret] is not allowed" };
  expect(failure).toMatchObject({ code: "refused", problem, cause: { code: "refused", method: "GET" } });
  expect(inspect(failure, { depth: 9 })).not.toContain("hunter2");
  expect(pulumi.RunError.isInstance(failure), "Pulumi prints it without a stack trace").toBe(true);
});
