import { describe, expect, test } from "vitest";
import { oneInstance, URN } from "./one-instance";
import {
  changed,
  errorOf,
  existingInstance,
  existingProject,
  failureOf,
  type Service,
  startService,
} from "./service";

const methods = ({ emulator }: Service) => emulator.requests.map(({ method, path }) => `${method} ${path}`);

describe("a deletion", () => {
  test.each([204, 202] as const)(
    "is requested once, and is confirmed when the list no longer shows the object (%d)",
    async (deleteObject) => {
      const service = await startService({ behaviour: { deleteObject } });
      const saved = await existingInstance(service);
      service.emulator.clearRequests();
      await service.instances.delete(saved.id, saved.state);
      expect(service.emulator.instances.size).toBe(0);
      expect(methods(service)[0]).toBe(`DELETE /v1/instances/${saved.id}`);
      const asked = methods(service).filter((method) => !method.includes("/operations/"));
      expect(asked.slice(1, 2)).toEqual(["GET /v1/instances"]);
      // An operation shows that the service knew the instance. After a bare 204, only the project's visibility does.
      expect(asked.slice(2)).toEqual(deleteObject === 204 ? ["GET /v1/projects"] : []);
    },
  );

  test.each([{ operationKeptMs: 0 }, { operationKeptPolls: 0 }] as const)(
    "is confirmed by the absence of the object if its operation no longer exists: %j",
    async (behaviour) => {
      const service = await startService({ behaviour: { deleteObject: 202 } });
      const saved = await existingInstance(service);
      Object.assign(service.emulator.behaviour, behaviour);
      await service.instances.delete(saved.id, saved.state);
      expect(service.emulator.instances.size).toBe(0);
      expect(methods(service)).toContain("GET /v1/projects");
    },
  );

  test("whose operation can't be found, and that fails, is an error", async () => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const saved = await existingInstance(service);
    service.emulator.failNextOperation({});
    service.emulator.behaviour.operationKeptMs = 0;
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("still returns");
    expect(service.emulator.instances.size).toBe(1);
  });

  test("of an instance is not confirmed if the token shows neither it nor its project: a service may accept the deletion of any id", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    const hiddenProjects = [...service.emulator.projects.keys()];
    Object.assign(service.emulator.behaviour, { hiddenProjects, forbiddenStatus: 404 });
    service.emulator.fail({ method: "DELETE", kind: "status", status: 204 });
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("the token may belong to another account or lack read access");
    expect(service.emulator.instances.size).toBe(1);
  });

  test("of a project that the token doesn't show is not requested, because a service may accept that of any id", async () => {
    const service = await startService();
    const saved = await existingProject(service);
    const hiddenProjects = [saved.id];
    Object.assign(service.emulator.behaviour, { hiddenProjects, forbiddenStatus: 404 });
    const { projects } = await service.newProviders();
    service.emulator.clearRequests();
    const { message } = await failureOf(projects.delete(saved.id, saved.state));
    expect(message).toContain("the token may belong to another account or lack read access");
    expect(methods(service).join()).not.toContain("DELETE");
  });

  test("of the only project is confirmed without another visible project", async () => {
    const service = await startService();
    const saved = await existingProject(service);
    await service.projects.delete(saved.id, saved.state);
    expect(service.emulator.projects.size).toBe(0);
  });

  test("of an object that no longer exists succeeds", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.remove(saved.id);
    await service.instances.delete(saved.id, saved.state);
    expect(methods(service)).toContain("GET /v1/instances");
  });

  test("succeeds if its reply is lost", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "DELETE", kind: "lost-reply" });
    await service.instances.delete(saved.id, saved.state);
    expect(service.emulator.instances.size).toBe(0);
  });

  test("is not confirmed while the list still shows the object", async () => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const saved = await existingInstance(service, { __timeouts: { delete: "2m" } });
    const fault = service.emulator.fail({
      method: "DELETE",
      kind: "status",
      status: 200,
      problem: { id: saved.id },
    });
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(fault.used).toBe(1);
    expect(message).toContain(`the service accepted the deletion, but still returns instance ${saved.id}`);
    expect(message).toContain("customTimeouts");
    expect(service.clock.now()).toBeLessThanOrEqual(130_000);
  });

  test("takes as long as the program allows in this run, although the state has an earlier timeout", async () => {
    const service = await startService({ behaviour: { deleteObject: 202, operationMs: 0 } });
    const saved = await existingInstance(service, { __timeouts: { delete: "20m" } });
    service.emulator.behaviour.operationMs = 3_600_000;
    await service.instances.check(saved.inputs, changed(saved, { __timeouts: { delete: "2m" } }));
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("timed out after 2 min");
  });

  test("whose operation fails is an error with the operation's problem", async () => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const saved = await existingInstance(service);
    service.emulator.failNextOperation({ kind: "delete" });
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toMatch(/^deleting instance "web" \(ins-\w+\) failed: /);
    expect(message).toContain("capacity_exhausted");
    expect(service.emulator.instances.has(saved.id)).toBe(true);
  });
});

test("an instance that the service doesn't delete during an update is deleted once a timed-out update has ended", async () => {
  const { service, web } = await oneInstance({ behaviour: { busyInstance: "refused" } });
  await web.up();
  Object.assign(service.emulator.behaviour, { putReply: 202, operationMs: 60_000 });
  expect(await web.up({ flavor: "m1.large", __timeouts: { update: "5s" } })).toContain("timed out after 5 s");
  expect(await web.destroy()).toBeUndefined();
  expect(service.emulator.instances.size).toBe(0);
});

describe("a service without DELETE", () => {
  test("causes an error with alternatives while the object exists", async () => {
    const service = await startService({ behaviour: { deleteObject: 405 } });
    const saved = await existingInstance(service);
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("the service doesn't support deleting instances");
    expect(message).toContain("retainOnDelete");
    expect(message).toContain("pulumi state delete <urn>");
  });

  test.each([
    ["before", true],
    ["after", false],
  ])(
    "keeps the object with a warning if it is to be deleted %s its replacement is created, and the program has added the option `retainOnDelete`",
    async (_when, deleteBeforeReplace) => {
      const { service, web } = await oneInstance({ behaviour: { deleteObject: 405 } });
      await web.up({ name: undefined });
      const { id } = web.inState();
      const news = { name: undefined, image: "debian-14" };
      expect(await web.up(news, { deleteBeforeReplace })).toContain("the service doesn't support deleting");
      expect(service.warnings).toEqual([]);
      expect(await web.up({ ...news, __retainOnDelete: true }, { deleteBeforeReplace })).toBeUndefined();
      expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
      expect(web.replaced).toEqual([]);
      expect(service.warnings).toEqual([
        `cloudinfra: instance ${id} was not deleted, because the service's API can't delete instances and the resource has the ` +
          "option `retainOnDelete`. Pulumi no longer manages this object. If you don't need the object, delete it in the service.",
      ]);
    },
  );

  test("keeps the object with a warning if the program has added the option `retainOnDelete` after a rename of the stack", async () => {
    const { service, web } = await oneInstance({ behaviour: { deleteObject: 405 } });
    await web.up();
    const { id } = web.inState();
    const news = { image: "debian-14", __retainOnDelete: true, __urn: URN.replace(":dev::", ":prod::") };
    expect(await web.up(news)).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
  });

  test("causes no error once the object no longer exists", async () => {
    const service = await startService({ behaviour: { deleteObject: 405 } });
    const saved = await existingInstance(service);
    service.emulator.remove(saved.id);
    await service.instances.delete(saved.id, saved.state);
    expect(methods(service)).toContain("GET /v1/instances");
  });
});

test("a 404 for an instance that is still shown leads to another attempt, not to its removal from the state", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  service.emulator.fail({ method: "DELETE", kind: "status", status: 404 });
  const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
  expect(message).toContain(
    `the service returned "not found" for the deletion of instance ${saved.id}, but still returns the instance`,
  );
  expect(message).toContain("Run the command again");
  expect(message).not.toContain("pulumi state delete");
  await service.instances.delete(saved.id, saved.state);
  expect(service.emulator.instances.size).toBe(0);
});

test("a deletion without an operation is awaited even if a lagging list doesn't show the instance yet", async () => {
  const service = await startService({ behaviour: { deleteObject: 202, acceptedReply: "bare" } });
  const saved = await existingInstance(service);
  Object.assign(service.emulator.behaviour, { lagMs: 3_000, lagIn: "lists", operationMs: 30_000 });
  await service.instances.delete(saved.id, saved.state);
  expect(service.emulator.instances.has(saved.id)).toBe(false);
});

test("a deletion without an operation is awaited even if reads don't show the object of a creation that has just ended", async () => {
  const { service, web } = await oneInstance({
    behaviour: {
      resultLink: "early",
      instanceVisible: "when-done",
      operationMs: 10_000,
      lagMs: 3_000,
      lagIn: "both",
    },
  });
  expect(await web.up({ __timeouts: { create: "5s" } })).toContain("timed out");
  Object.assign(service.emulator.behaviour, { deleteObject: 202, acceptedReply: "bare" });
  expect(await web.destroy()).toBeUndefined();
  expect(service.emulator.instances.size).toBe(0);
});

test.each([
  { lagMs: 2_000, lagIn: "both" },
  { lagMs: 10_000, lagIn: "lists" },
  { lagMs: 10_000, lagIn: "lists", getObject: 405 },
] as const)(
  "a deletion with a lost reply succeeds although reads still show the object for a while: %j",
  async (behaviour) => {
    const service = await startService();
    const saved = await existingInstance(service);
    await service.clock.sleep(60_000);
    Object.assign(service.emulator.behaviour, behaviour);
    service.emulator.fail({ method: "DELETE", kind: "lost-reply" });
    await service.instances.delete(saved.id, saved.state);
    expect(service.emulator.instances.has(saved.id)).toBe(false);
    const deletions = service.emulator.requests.filter(({ method }) => method === "DELETE");
    expect(deletions.map(({ status }) => status)).toEqual([0, 404]);
  },
);

test("if a deletion's reply is lost and its retry is a conflict, the hint says that the deletion may be in progress", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  Object.assign(service.emulator.behaviour, { deleteObject: 202, operationMs: 3_600_000 });
  service.emulator.fail({ method: "DELETE", kind: "lost-reply" });
  service.emulator.fail({ method: "DELETE", kind: "status", status: 409 });
  const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
  expect(message).toContain("(409)");
  expect(message.replace(/\s+/g, " ")).toContain("the deletion may already be in progress");
});

test.each([400, 409, 422])(
  "a soft-deleted instance whose DELETE the service rejects with %i is deleted",
  async (status) => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { status: "DELETED" });
    service.emulator.fail({ method: "DELETE", kind: "status", status, times: Number.POSITIVE_INFINITY });
    expect(await errorOf(service.instances.delete(saved.id, saved.state))).toBeUndefined();
    expect(methods(service).filter((one) => one.startsWith("DELETE"))).toHaveLength(1);
  },
);

test("a rejected DELETE is reported if reads don't show the instance, because they may lag", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  Object.assign(service.emulator.behaviour, { lagMs: 60_000, lagIn: "both" });
  service.emulator.fail({ method: "DELETE", kind: "status", status: 409 });
  expect(await errorOf(service.instances.delete(saved.id, saved.state))).toContain("(409)");
});

test.each([409, 404])(
  "a project's deletion that timed out is confirmed later, although a deletion in between was rejected with %d because the first one was in progress",
  async (status) => {
    const service = await startService({ behaviour: { deleteObject: 202, operationMs: 7_200_000 } });
    const { id, state } = await existingProject(service);
    const destroy = async () => errorOf((await service.newProviders()).projects.delete(id, state));
    expect(await destroy()).toContain("code operation_timeout");
    service.emulator.fail({ method: "DELETE", kind: "status", status });
    expect(await destroy()).toContain(`DELETE /v1/projects/${id}`);
    service.emulator.finishOperations();
    expect(await destroy()).toBeUndefined();
  },
);

describe("a deletion fails after", () => {
  test.each([401, 403, 409, 500])("%d", async (status) => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "DELETE", kind: "status", status, times: Number.POSITIVE_INFINITY });
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toMatch(/^deleting instance "web" /);
    expect(message).toContain(`(${status})`);
    expect(service.emulator.instances.has(saved.id)).toBe(true);
  });

  test("an outage of the list that would confirm it", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "GET", kind: "status", status: 403, times: Number.POSITIVE_INFINITY });
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("(403)");
  });

  test("a list without any project", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.remove(saved.id);
    for (const id of [...service.emulator.projects.keys()]) service.emulator.remove(id);
    const { message } = await failureOf(service.instances.delete(saved.id, saved.state));
    expect(message).toContain("the token may belong to another account");
  });
});

test.each([400, 409, 422, 423])(
  "an instance that is busy with a timed-out update (%d) is deleted once the update has ended",
  async (status) => {
    const { service, web } = await oneInstance();
    await web.up();
    Object.assign(service.emulator.behaviour, { putReply: 202, operationMs: 60_000 });
    expect(await web.up({ flavor: "m1.large", __timeouts: { update: "5s" } })).toContain("timed out");
    service.emulator.fail({ method: "DELETE", kind: "status", status, times: 1 });
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  },
);

test("an instance is deleted even if a damaged record contains the operation of another creation", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  const [operation = ""] = service.emulator.operations.keys();
  await web.up({ image: "debian-14" });
  const { id, inputs, state } = web.inState();
  const url = `${service.emulator.endpoint}/operations/${operation}`;
  web.saved = { id, inputs, state: { ...state, __pending: { key: "", operation: { id: operation, url } } } };
  expect(await web.destroy()).toBeUndefined();
  expect(service.emulator.instances.size).toBe(0);
});
