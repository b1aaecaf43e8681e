import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

describe("a refresh of a creation that was cut off", () => {
  const SHORT = { __timeouts: { create: "5s" } };

  async function placeholder() {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    return { service, web };
  }

  test("leaves it as it is while its operation is at work, and the next `up` still goes on with it", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    const before = web.there();
    await web.refresh();
    expect(web.there()).toMatchObject({ id: before.id, state: before.state });
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { onAnotherMachine: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.forgetNoted();
    await web.expectOne();
  });

  test("gives it its own id once it is done, and the next `up` has nothing to do", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    const [id] = service.emulator.instances.keys();
    expect(web.there()).toMatchObject({ id, state: { status: "running" } });
    service.emulator.clearRequests();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(service.emulator.requests).toEqual([]);
    await web.expectOne();
  });

  test("takes it out of the state where its operation failed, and the next `up` makes it", async () => {
    const { service, web } = await placeholder();
    service.emulator.failNextOperation({ kind: "create" });
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    expect(web.saved).toBeUndefined();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    await web.expectOne();
  });

  test("gives it the id of the object that its failed operation left behind, and the next `up` replaces that", async () => {
    const { service, web } = await placeholder();
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up(SHORT);
    service.emulator.finishOperations();
    const [broken] = service.emulator.instances.keys();
    await web.refresh();
    expect(web.there()).toMatchObject({ id: broken, state: { __pending: { failed: true } } });
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(await web.expectOne()).not.toBe(broken);
  });

  test("leaves it where the service does not know its operation, which says nothing about the object", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    service.emulator.remove([...service.emulator.operations.keys()][0] ?? "");
    const { id } = web.there();
    await web.refresh();
    expect(web.there().id).toBe(id);
  });

  test("leaves one whose answer was lost", async () => {
    const { service, web } = await placeholder();
    const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
    await web.up(SHORT);
    lost.off();
    const { id, state } = web.there();
    await web.refresh();
    expect(web.there()).toMatchObject({ id, state });
  });
});

test("what is known by its id already is seen for the first time: the service's own spelling is no change", async () => {
  const spelling = (object: object): object => ({ ...object, image: "img-7" });
  const { service, web } = await oneInstance({
    behaviour: { operationMs: 3_600_000, resultLink: "early", spelling },
  });
  await web.up({ __timeouts: { create: "5s" } });
  const [id] = service.emulator.instances.keys();
  expect(web.there()).toMatchObject({ id, state: { __pending: { operation: expect.anything() } } });
  await web.refresh();
  expect(web.there().state).toHaveProperty("__pending"); // the operation is still at work
  service.emulator.finishOperations();
  await web.refresh();
  expect(web.there()).toMatchObject({
    id,
    inputs: { image: "debian-13" },
    state: { __words: { image: "img-7" } },
  });
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
});
