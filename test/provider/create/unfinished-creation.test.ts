import { describe, expect, onTestFinished, test, vi } from "vitest";
import { EngineLog } from "../../../src/provider/progress/engine-log";
import { oneInstance, URN } from "../one-instance";
import type { ServiceOptions } from "../service";

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

describe("a creation that goes on at the service when its time is over", () => {
  test("is in the state under its operation, with what any machine needs to go on", async () => {
    const { service, web, said } = await cutOff();
    const [operation] = service.emulator.operations.keys();
    const [post] = web.posts();
    expect(said).toContain("run `pulumi up` again, on any machine");
    expect(web.there().id).toBe(`operation/${operation}`);
    expect(web.there().state).toMatchObject({
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

  test("is in the state under its own id where the operation tells it", async () => {
    const { service, web } = await cutOff({ behaviour: { resultLink: "early" } });
    const [id] = service.emulator.instances.keys();
    expect(web.there().id).toBe(id);
    service.emulator.finishOperations();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    expect(await web.expectOne()).toBe(id);
  });

  test("is in the state under its own id where only its result could not be read", async () => {
    const { service, web } = await oneInstance();
    const refused = service.emulator.fail({
      method: "GET",
      path: "/v1/instances/",
      kind: "status",
      status: 403,
      times: 99,
    });
    expect(await web.up()).toContain("(403)");
    const [id] = service.emulator.instances.keys();
    expect(web.there().id).toBe(id);
    refused.off();
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("is in the state under its own id where its result is not there: somebody may have deleted it", async () => {
    let isFound = false;
    const { service, web } = await oneInstance({
      onRequest: ({ method }) => {
        if (method !== "POST" || isFound) return;
        for (const id of service.emulator.instances.keys()) service.emulator.remove(id);
      },
    });
    expect(await web.up()).toContain("is not there");
    expect(web.there().id).toMatch(/^ins-/);
    expect(await web.up()).toContain("no longer exists");
    expect(web.posts()).toHaveLength(1);
    isFound = true;
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is in the state under its operation also where the service does not know that", async () => {
    const { service, web } = await oneInstance();
    const path = "/v1/operations/";
    const unknown = service.emulator.fail({ method: "GET", path, kind: "status", status: 404, times: 99 });
    expect(await web.up()).toContain("not_found (404)");
    const [operation] = service.emulator.operations.keys();
    expect(web.there().id).toBe(`operation/${operation}`);
    unknown.off();
    expect(await web.up()).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.expectOne();
  });

  test("is a row of the preview that says so: the new one is created before the old one is deleted", async () => {
    const { web } = await cutOff();
    const { id, inputs, state } = web.there();
    const said: unknown[] = [];
    const row = vi.spyOn(EngineLog.prototype, "statusLogFor");
    onTestFinished(() => row.mockRestore());
    row.mockImplementation((urn) => ({ write: async (message) => void said.push([urn, message]) }));
    const process = await web.process();
    const answer = await process.diff(id, state, (await process.check(inputs, web.news(SHORT))).inputs);
    expect(answer).toEqual({ changes: true, replaces: ["__pending"], deleteBeforeReplace: false });
    expect(said).toEqual([[URN, "its creation is resumed; nothing is replaced"]]);
  });

  test("is gone on with by the next `up`, on any machine", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { onAnotherMachine: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.forgetNoted();
    await web.expectOne();
  });

  test("a second and a third time", async () => {
    const { service, web } = await cutOff();
    expect(await web.up(SHORT)).toContain("timed out after");
    expect(await web.up({ ...SHORT, flavor: "m1.large" })).toContain("timed out after");
    service.emulator.finishOperations();
    expect(await web.up({ ...SHORT, flavor: "m1.large" })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test("with the option deleteBeforeReplace, the deletion that comes first does nothing", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    const [id] = service.emulator.instances.keys();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    expect(await web.expectOne()).toBe(id);
  });

  test("with the option deleteBeforeReplace, it is still there for the `up` after one that failed again", async () => {
    const { service, web } = await cutOff();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toContain("timed out after");
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { deleteBeforeReplace: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.expectOne();
  });

  test("under --target-replace it is one object all the same", async () => {
    const { service, web } = await cutOff();
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { targetReplace: true })).toBeUndefined();
    await web.expectOne();
  });

  test("is made anew by the next `up` where its operation failed meanwhile", async () => {
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
  test("and left its object, is in the state under that object's id", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const said = await web.up();
    const [id] = service.emulator.instances.keys();
    expect(said).toContain("capacity_exhausted");
    expect(said).toContain(`instance ${id} was left behind, and is in the state as failed`);
    expect(web.there().id).toBe(id);
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("and left nothing, is a plain error: no state, no note, and the next `up` makes it under another key", async () => {
    const { service, web } = await oneInstance();
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("capacity_exhausted");
    expect(web.saved).toBeUndefined();
    expect(await web.entry()).toBeUndefined();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("and names an object that is not shown, keeps it as failed, because a list may lag: the next `up` makes another", async () => {
    const { service, web } = await oneInstance({ behaviour: { resultLink: "early" } });
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("capacity_exhausted");
    expect(web.there().state).toMatchObject({ __pending: { failed: true } });
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });
});
