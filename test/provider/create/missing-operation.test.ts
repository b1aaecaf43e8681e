import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

describe("an interrupted creation whose operation can't be found", () => {
  async function purged() {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [operation = ""] = service.emulator.operations.keys();
    const [id = ""] = service.emulator.instances.keys();
    return { service, web, operation, id };
  }

  test("is not repeated with another key, and the error lists the objects with its name", async () => {
    const { service, web, operation, id } = await purged();
    service.emulator.remove(operation);
    const before = await web.journalEntry();
    const said = await web.up();
    expect(said).toContain(`the service no longer reports operation ${operation}`);
    expect(said).toContain(`the service lists ${id} with the same name`);
    expect(said).toContain("adopt it with the `import` option");
    expect(service.emulator.instances.size).toBe(1);
    expect(web.keys()).toBe(1);
    expect(await web.journalEntry()).toEqual({ ...before, resumedBy: expect.any(String) });
  });

  test("lists the replacement of an object, although it has the former object's id", async () => {
    const { service, web } = await oneInstance({ behaviour: { ids: "slug", idReuse: true } });
    await web.up({ name: "web" });
    const { id } = web.inState();
    service.emulator.remove(id);
    await service.clock.sleep(60_000);
    const entry = await web.killedBeforeReply({ name: "web", image: "debian-14" });
    service.emulator.finishOperations();
    await web.writeEntry({ ...entry, at: 1 });
    const said = await web.up({ name: "web", image: "debian-14" });
    expect(said).toContain(`the service lists ${id} with the same name`);
  });

  test.each([403, 404])(
    "is resumed once a token may read it, if an earlier token may not (%d)",
    async (status) => {
      const { service, web, id } = await purged();
      const hidden = ["/v1/operations/", "/v1/projects", "/v1/instances"].map((path) =>
        service.emulator.fail({ path, kind: "status", status, times: Number.POSITIVE_INFINITY }),
      );
      expect(await web.up()).toContain(String(status));
      for (const fault of hidden) fault.off();
      expect(await web.up()).toBeUndefined();
      expect(await web.expectOne()).toBe(id);
      expect(web.keys()).toBe(1);
    },
  );
});

describe("a creation that failed after its timeout, and whose next attempt fails, too,", () => {
  test("is retried with a new key by each further `up` until it succeeds", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    const fail = () => service.emulator.failNextOperation({ kind: "create" });
    fail();
    await web.up({ __timeouts: { create: "5s" } });
    expect(web.inState().id).toMatch(/^operation\//);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 100;
    for (let attempts = 0; attempts < 2; attempts += 1) {
      fail();
      expect(await web.up()).toContain("capacity_exhausted");
    }
    expect(web.keys()).toBe(3);
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(4);
    await web.expectOne();
  });
});

test("an instance that a failed creation has left behind is replaced by the next `up`", async () => {
  const { service, web } = await oneInstance();
  service.emulator.failNextOperation({ kind: "create", leaveObject: true });
  expect(await web.up()).toMatch(/The state records instance \S+ as failed/);
  const { id } = web.inState();
  expect([...service.emulator.instances.keys()]).toEqual([id]);
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).not.toBe(id);
});
