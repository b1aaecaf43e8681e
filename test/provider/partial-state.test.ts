import { describe, expect, onTestFinished, test, vi } from "vitest";
import { EngineLog } from "../../src/provider/progress";
import { oneInstance, URN } from "./one-instance";
import type { ServiceOptions } from "./service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };
const LONG_MS = 3_600_000;

/** A service whose operations take an hour, and an instance whose creation has not been waited for that long. */
async function cutOff(options: ServiceOptions = {}) {
  const { service, web } = await oneInstance({
    ...options,
    behaviour: { operationMs: LONG_MS, ...options.behaviour },
  });
  const said = await web.up(SHORT);
  return { service, web, said };
}

describe("a creation that continues after its timeout", () => {
  test("is in the state with its operation, so that any machine can resume it", async () => {
    const { service, web, said } = await cutOff();
    const [operation] = service.emulator.operations.keys();
    const [post] = web.posts();
    expect(said).toContain("Run `pulumi up` again on any machine to resume the creation");
    expect(web.inState().id).toBe(`operation/${operation}`);
    expect(web.inState().state).toMatchObject({
      name: "web",
      flavor: "m1.small",
      __provider: expect.any(String),
      __endpoint: service.emulator.endpoint,
      __key: post?.headers["idempotency-key"],
      __pending: {
        key: post?.headers["idempotency-key"],
        body: post?.body,
        operation: { id: operation, url: expect.stringContaining(`/operations/${operation}`) },
      },
    });
  });

  test("is in the state with the object's id if the operation names it", async () => {
    const { service, web } = await cutOff({ behaviour: { resultLink: "early" } });
    const [id] = service.emulator.instances.keys();
    expect(web.inState().id).toBe(id);
    service.emulator.finishOperations();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    expect(await web.expectOne()).toBe(id);
  });

  test("is in the state with the object's id if only its result could not be read", async () => {
    const { service, web } = await oneInstance();
    const refused = service.emulator.fail({
      method: "GET",
      path: /^\/v1\/instances/,
      kind: "status",
      status: 403,
      times: 99,
    });
    expect(await web.up()).toContain("(403)");
    const [id] = service.emulator.instances.keys();
    expect(web.inState().id).toBe(id);
    refused.off();
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("is in the state with the object's id if its result doesn't exist, because somebody may have deleted it", async () => {
    let isFound = false;
    const { service, web } = await oneInstance({
      onRequest: ({ method }) => {
        if (method !== "POST" || isFound) return;
        for (const id of service.emulator.instances.keys()) service.emulator.remove(id);
      },
    });
    expect(await web.up()).toContain("doesn't exist");
    expect(web.inState().id).toMatch(/^ins-/);
    expect(await web.up()).toContain("no longer exists");
    expect(web.posts()).toHaveLength(1);
    isFound = true;
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is in the state with its operation, even if the service no longer reports it", async () => {
    const { service, web } = await oneInstance();
    const path = "/v1/operations/";
    const unknown = service.emulator.fail({ method: "GET", path, kind: "status", status: 404, times: 99 });
    expect(await web.up()).toContain("not_found (404)");
    const [operation] = service.emulator.operations.keys();
    expect(web.inState().id).toBe(`operation/${operation}`);
    unknown.off();
    expect(await web.up()).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.expectOne();
  });

  test("is shown in the preview, and the new object is created before the old one is deleted", async () => {
    const { web } = await cutOff();
    const { id, inputs, state } = web.inState();
    const said: unknown[] = [];
    const row = vi.spyOn(EngineLog.prototype, "statusLogFor");
    onTestFinished(() => row.mockRestore());
    row.mockImplementation((urn) => ({ write: async (message) => void said.push([urn, message]) }));
    const process = await web.process();
    const answer = await process.diff(id, state, (await process.check(inputs, web.news(SHORT))).inputs);
    expect(answer).toEqual({ changes: true, replaces: ["__pending"], deleteBeforeReplace: false });
    expect(said).toEqual([[URN, "resuming its creation; nothing is replaced"]]);
  });

  test("is resumed by the next `up` on any machine", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { onAnotherMachine: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.removeEntry();
    await web.expectOne();
  });

  test("is resumed a second and a third time", async () => {
    const { service, web } = await cutOff();
    expect(await web.up(SHORT)).toContain("timed out after");
    expect(await web.up({ ...SHORT, flavor: "m1.large" })).toContain("timed out after");
    service.emulator.finishOperations();
    expect(await web.up({ ...SHORT, flavor: "m1.large" })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test("is not affected by the deletion that comes first with the option deleteBeforeReplace", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    const [id] = service.emulator.instances.keys();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    expect(await web.expectOne()).toBe(id);
  });

  test("is kept with the option deleteBeforeReplace for the `up` after one that failed again", async () => {
    const { service, web } = await cutOff();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toContain("timed out after");
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.expectOne();
  });

  test("leads to one object even under --target-replace", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { targetReplace: true })).toBeUndefined();
    await web.expectOne();
  });

  test("is repeated by the next `up` if its operation has failed since", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: LONG_MS } });
    service.emulator.failNextOperation({ kind: "create" });
    await web.up(SHORT);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });
});

describe("a creation whose operation failed", () => {
  test("is in the state with the object's id if it has left an object", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const said = await web.up();
    const [id] = service.emulator.instances.keys();
    expect(said).toContain("capacity_exhausted");
    expect(said).toContain(`The state records instance ${id} as failed`);
    expect(web.inState().id).toBe(id);
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("leaves no state and no entry if it has left no object, and the next `up` repeats it with another key", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("capacity_exhausted");
    expect(web.saved).toBeUndefined();
    expect(await web.entry()).toBeUndefined();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is kept as failed if it names an object that a lagging list doesn't show, and the next `up` creates another", async () => {
    const { service, web } = await oneInstance({ behaviour: { resultLink: "early" } });
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("capacity_exhausted");
    expect(web.inState().state).toMatchObject({ __pending: { failed: true } });
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });
});

test("a preview says that an object is imported in place of a creation that was given up", async () => {
  const { web, service } = await oneInstance({ behaviour: { operationMs: LONG_MS } });
  await web.up(SHORT);
  service.emulator.finishOperations();
  const [id = ""] = service.emulator.instances.keys();
  await web.giveUp();
  const write = vi.fn(async () => {});
  const row = vi.spyOn(EngineLog.prototype, "statusLogFor").mockReturnValue({ write });
  onTestFinished(() => row.mockRestore());
  const process = await web.process();
  const { inputs } = await process.check(web.inState().inputs, web.news({ __import: id }));
  await process.diff(web.inState().id, web.inState().state, inputs);
  expect(write).toHaveBeenLastCalledWith(`importing instance ${id}: the unfinished creation was given up`);
});

describe("after an unfinished creation is given up, the resource is created with a key that was never sent,", () => {
  /** Creates an instance that doesn't become ready in time, deletes it at the service, and gives its creation up. */
  async function giveUp({ service, web }: Awaited<ReturnType<typeof oneInstance>>) {
    await web.up({ __timeouts: { create: "5s" } });
    service.emulator.finishOperations();
    for (const id of [...service.emulator.instances.keys()]) service.emulator.remove(id);
    await web.giveUp();
  }

  const slow = { behaviour: { operationMs: 3_600_000 } };

  test("also if that creation followed a failed one", async () => {
    const { service, web } = await oneInstance(slow);
    service.emulator.failNextOperation({ kind: "create" });
    await web.up({ __timeouts: { create: "5s" } });
    service.emulator.finishOperations();
    await giveUp({ service, web });
    service.emulator.behaviour.operationMs = 100;
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
    expect(web.keys()).toBe(3);
  });

  test("also if it is given up twice", async () => {
    const { service, web } = await oneInstance(slow);
    await giveUp({ service, web });
    await giveUp({ service, web });
    service.emulator.behaviour.operationMs = 100;
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
    expect(web.keys()).toBe(3);
  });

  test("also if the creation after it fails once", async () => {
    const { service, web } = await oneInstance(slow);
    await giveUp({ service, web });
    service.emulator.behaviour.operationMs = 100;
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("failed");
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
    expect(web.keys()).toBe(3);
  });
});
