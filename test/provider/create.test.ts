import { describe, expect, test } from "vitest";
import type { LoggedRequest } from "../../src/emulator";
import { InitializationError } from "../../src/provider/host";
import { instanceNews, KEY, SSH_KEY } from "./samples";
import { existingInstance, existingProject, failureOf, startService } from "./service";

const posts = (requests: readonly LoggedRequest[]) => requests.filter(({ method }) => method === "POST");

test("a create sends one POST with the key of the inputs, and reads the instance when the operation is done", async () => {
  const service = await startService();
  const { id, state } = await existingInstance(service, { publicIp: "auto", sshKeys: [SSH_KEY] });
  const [post, ...more] = posts(service.emulator.requests);
  expect(more).toEqual([]);
  expect(post).toMatchObject({ path: "/v1/instances", headers: { "idempotency-key": KEY } });
  const [project] = service.emulator.projects.keys();
  expect(post).toHaveProperty(
    "body",
    `{"project":"${project}","name":"web","image":"debian-13","flavor":"m1.small","network":"default",` +
      `"public_ip":"auto","ssh_keys":["${SSH_KEY}"]}`,
  );
  expect([...service.emulator.instances.keys()]).toEqual([id]);
  expect(state).toMatchObject({
    project,
    name: "web",
    publicIp: "auto",
    sshKeys: [SSH_KEY],
    status: "running",
    revision: service.emulator.instances.get(id)?.revision,
    ipAddress: service.emulator.instances.get(id)?.address,
    __key: KEY,
    __endpoint: service.emulator.endpoint,
  });
});

describe("a project", () => {
  test.each([200, 201, 202] as const)(
    "may be returned at once or as an operation: POST returns %d",
    async (projectPost) => {
      const service = await startService({ behaviour: { projectPost } });
      const { id, state } = await existingProject(service);
      expect([...service.emulator.projects.keys()]).toEqual([id]);
      expect(state).toMatchObject({ name: "shop", region: "eu-1", description: "" });
    },
  );
});

describe("the result of the operation", () => {
  test.each(["absolute", "relative", "early"] as const)(
    "is found by a link that is %s",
    async (resultLink) => {
      const service = await startService({ behaviour: { resultLink } });
      const { id } = await existingInstance(service);
      expect([...service.emulator.instances.keys()]).toEqual([id]);
    },
  );

  test.each([404, 405] as const)("is found in the list if its link returns %d", async (getObject) => {
    const service = await startService({ behaviour: { getObject } });
    const { id, state } = await existingInstance(service);
    expect([...service.emulator.instances.keys()]).toEqual([id]);
    expect(state.status).toBe("running");
  });

  test("that is unknown causes an error that names the operation", async () => {
    const service = await startService({ behaviour: { resultLink: "missing" } });
    const error = await failureOf(existingInstance(service));
    const [operation] = service.emulator.operations.keys();
    expect(error.message).toContain(
      `operation ${operation} is done, but its reply doesn't contain the id of the new instance`,
    );
    expect(error.message).toContain("hint: ");
  });

  test("that can't be read causes an error that names the object", async () => {
    const service = await startService();
    service.emulator.fail({ method: "GET", path: /^\/v1\/instances/, kind: "status", status: 403, times: 9 });
    const error = await failureOf(existingInstance(service));
    const [id] = service.emulator.instances.keys();
    expect(error.message).toContain("forbidden (403)");
    expect(error.message).toContain(`object ${id}`);
  });
});

describe("a failed create", () => {
  test("names the property if the request is rejected, and creates nothing", async () => {
    const service = await startService();
    const error = await failureOf(existingInstance(service, { flavor: "nope" }));
    expect(error.message).toMatch(/^creating instance "web" failed: /);
    expect(error.message).toContain("\n  flavor: flavor 'nope' does not exist");
    expect(error.message).toMatch(/\n {2}POST \/v1\/instances · trace tr-\d+/);
    expect(error).not.toBeInstanceOf(InitializationError);
    expect(service.emulator.instances.size).toBe(0);
  });

  test.each(["failed", "error", "cancelled", "gave-up"])(
    "shows the problem of an operation that ends as %s",
    async (failedStatus) => {
      const service = await startService({ behaviour: { failedStatus } });
      service.emulator.failNextOperation();
      const error = await failureOf(existingInstance(service));
      const [operation] = service.emulator.operations.keys();
      expect(error.message).toContain(`operation ${operation} ended with status "${failedStatus}"`);
      expect(error.message).toContain("capacity_exhausted");
    },
  );

  test("names a project that the failed operation may have left, even if it isn't shown yet", async () => {
    const behaviour = { projectPost: 202, ids: "counter", lagMs: 300, lagIn: "both" } as const;
    const service = await startService({ behaviour, config: { operationTimeout: "3s" } });
    service.emulator.failNextOperation({ leaveObject: true });
    const error = await failureOf(existingProject(service));
    const [id] = service.emulator.projects.keys();
    expect(error.message).toContain(`object ${id} `);
  });

  test("names the object that a failed operation has left", async () => {
    const service = await startService();
    service.emulator.failNextOperation({ leaveObject: true });
    const error = await failureOf(existingInstance(service));
    const [id] = service.emulator.instances.keys();
    expect(error.message).toContain(`object ${id}`);
  });

  test("names the operation and its progress after the timeout of customTimeouts", async () => {
    const service = await startService({ behaviour: { operationMs: 3_600_000, progress: "stuck" } });
    const error = await failureOf(existingInstance(service, { __timeouts: { create: "2m" } }));
    const [operation] = service.emulator.operations.keys();
    expect(error.message).toContain(`waiting for operation ${operation}`);
    expect(error.message).toContain("40%");
    expect(error.message, "it takes precedence").not.toContain("cloudinfra:operationTimeout");
    expect(service.clock.now()).toBeLessThanOrEqual(120_000);
    expect(service.clock.now()).toBeGreaterThan(110_000);
  });

  test("names the operation after the timeout of the setting operationTimeout", async () => {
    const service = await startService({
      behaviour: { operationMs: 3_600_000 },
      config: { operationTimeout: "5m" },
    });
    expect((await failureOf(existingInstance(service))).message).toContain("cloudinfra:operationTimeout");
    expect(service.clock.now()).toBeLessThanOrEqual(300_000);
    expect(service.clock.now()).toBeGreaterThan(280_000);
  });

  test("is avoided after a lost reply by a retry with the same key and body", async () => {
    const service = await startService();
    service.emulator.fail({ method: "POST", kind: "lost-reply" });
    const { id } = await existingInstance(service);
    const [one, other] = posts(service.emulator.requests);
    expect(other).toMatchObject({ headers: { "idempotency-key": KEY } });
    expect(other).toHaveProperty("body", one?.body);
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });
});

test("an older program that passes no valid key still creates objects, with a valid key", async () => {
  const service = await startService();
  const project = service.emulator.addProject().id;
  await service.instances.create(instanceNews({ project, __key: "not a key" }));
  expect(posts(service.emulator.requests)[0]).toHaveProperty(
    "headers.idempotency-key",
    expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  );
});
