import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { InitializationError } from "../../src/provider/host";
import { oneInstance } from "./one-instance";
import { projectNews } from "./samples";
import { failureOf, startService } from "./service";

describe("the deletion of an interrupted creation", () => {
  const SHORT = { __timeouts: { create: "5s", delete: "5s" } };

  async function placeholder(failure = false) {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    if (failure) service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up(SHORT);
    expect(web.inState().id).toMatch(/^operation\//);
    return { service, web };
  }

  test.each([true, false])("waits for its end and deletes its object (refresh: %s)", async (refresh) => {
    const { service, web } = await placeholder();
    expect(await web.destroy({ refresh })).toContain("timed out after");
    expect(web.inState().id).toMatch(/^operation\//);
    service.emulator.finishOperations();
    expect(await web.destroy({ refresh })).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
    expect(await web.entry()).toBeUndefined();
  });

  test("sends no requests if its resource already manages the object, and the service has purged the operation", async () => {
    const { service, web } = await placeholder();
    const { emulator } = service;
    emulator.finishOperations();
    await web.interruptedUp({}); // the command ends before the engine deletes the placeholder
    const { id } = web.inState();
    expect(web.replaced).toHaveLength(1);
    for (const operation of emulator.operations.keys()) emulator.remove(operation, "operation");
    expect(await web.up()).toBeUndefined();
    expect(web.inState().id).toBe(id);
    expect([...emulator.instances.keys()]).toEqual([id]);
  });

  test("explains how to give up the creation if its key leads to an operation that the service has purged", async () => {
    const { service, web } = await oneInstance();
    const fault = service.emulator.fail({
      kind: "lost-reply",
      method: "POST",
      times: Number.POSITIVE_INFINITY,
    });
    await web.up();
    fault.off();
    service.emulator.finishOperations();
    for (const operation of service.emulator.operations.keys())
      service.emulator.remove(operation, "operation");
    expect(await web.destroy()).toContain("recover --forget");
  });

  test("sends no requests if the creation of the replacement has settled it", async () => {
    const { service, web } = await placeholder();
    await web.removeEntry();
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 0;
    const [operation] = service.emulator.operations.keys();
    service.emulator.clearRequests();
    expect(await web.up({ ...SHORT, image: "debian-14" })).toBeUndefined();
    await web.expectOne();
    const asked = service.emulator.requests.filter(({ path }) => path.endsWith(`/operations/${operation}`));
    expect(asked).toHaveLength(1);
  });

  test("settles it for the creation that follows, even if the service reports the end of the operation only once", async () => {
    const { service, web } = await placeholder();
    service.emulator.finishOperations();
    Object.assign(service.emulator.behaviour, { operationMs: 0, operationKeptPolls: 1 });
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    // The engine deletes what is in a project before it replaces the project, and only then looks at the program's resource.
    await process.delete(id, state);
    expect(service.emulator.instances.size).toBe(0);
    const news = web.news(SHORT);
    await process.diff(id, state, (await process.check(inputs, news)).inputs);
    const made = await process.create((await process.check({}, news)).inputs);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  // Because of `replacementTrigger` or `replaceWith`, the engine replaces a resource without asking for a diff.
  test("deletes its object if the resource is replaced without a diff", async () => {
    const { service, web } = await placeholder();
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 0;
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    const news = web.news(SHORT);
    await process.check(inputs, news);
    const { inputs: wanted } = await process.check({}, news);
    await process.delete(id, state);
    const made = await process.create(wanted);
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
  });

  test("is finished by the next `up` or refresh if it was interrupted, so that the object isn't adopted", async () => {
    const { service, web } = await placeholder();
    service.emulator.finishOperations();
    Object.assign(service.emulator.behaviour, { deleteObject: 202, operationMs: 60_000 });
    const [first] = service.emulator.instances.keys();
    const placeholderId = web.inState().id;
    expect(await web.destroy()).toContain("timed out after 5 s");
    expect([...service.emulator.instances.keys()]).toEqual([first]);
    await web.refresh();
    expect(web.inState().id).toBe(placeholderId);
    expect(await web.up()).toBeUndefined();
    service.emulator.finishOperations();
    expect(await web.expectOne()).not.toBe(first);
  });

  test("deletes the object that a failed operation has left", async () => {
    const { service, web } = await placeholder(true);
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(1);
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("resends a request without a reply, to learn what it created", async () => {
    const { service, web } = await oneInstance();
    const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
    await web.up();
    lost.off();
    await web.removeEntry();
    expect(service.emulator.instances.size).toBe(1);
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
    expect(web.keys()).toBe(1);
  });

  describe("with a timeout that is too short to wait for a lagging list,", () => {
    async function shortTimeout(behaviour: Partial<Behaviour> = {}, timeout = "5s") {
      const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
      await service.clock.sleep(60_000); // lists already return the project
      await web.up({ __timeouts: { create: "5s", delete: timeout } });
      service.emulator.finishOperations();
      Object.assign(service.emulator.behaviour, behaviour);
      const [id = ""] = service.emulator.instances.keys();
      return { service, web, id };
    }

    test.each(["2s", "5s", "16s", "20s", "30s"])(
      "succeeds if its object no longer exists (%s)",
      async (timeout) => {
        const { service, web, id } = await shortTimeout({}, timeout);
        service.emulator.remove(id);
        expect(await web.destroy()).toBeUndefined();
        expect(await web.entry()).toBeUndefined();
      },
    );

    test("deletes an object that only the list would return, and that the list doesn't return yet", async () => {
      const { service, web, id } = await shortTimeout({ getObject: 405, lagMs: 30_000 });
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.has(id)).toBe(false);
    });

    test("fails if its object and the project aren't found, because the token may belong to another account", async () => {
      const { service, web, id } = await shortTimeout();
      service.emulator.remove(id);
      service.emulator.remove(web.project);
      expect(await web.destroy()).toContain("the token may belong to another account");
      expect(web.inState().id).toMatch(/^operation\//);
    });

    test("fails if the object is a project that isn't found, because the token may belong to another account", async () => {
      const service = await startService();
      const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
      const news = projectNews({ __timeouts: { create: "5s", delete: "5s" } });
      const failed = await failureOf(
        service.projects.create((await service.projects.check({}, news)).inputs),
      );
      if (!(failed instanceof InitializationError)) throw failed;
      lost.off();
      for (const id of service.emulator.projects.keys()) service.emulator.remove(id);
      const { projects } = await service.newProviders();
      const { message } = await failureOf(projects.delete(failed.id, failed.properties));
      expect(message).toContain("the token may belong to another account");
    });
  });

  describe("explains what to do if the operation never ends,", () => {
    async function stuck(behaviour: Partial<Behaviour>) {
      const { web } = await oneInstance({ behaviour: { operationMs: 3_600_000, ...behaviour } });
      await web.up(SHORT);
      return { said: ((await web.destroy()) ?? "").replace(/\s+/g, " "), id: web.inState().id };
    }

    test("and the id of its object is unknown", async () => {
      const { said } = await stuck({});
      expect(said).toContain("Run the command again");
      expect(said).toContain("To wait longer, increase");
      expect(said).toMatch(/If the operation never ends, .*recover --forget <urn>/);
    });

    test("and the id of its object is known", async () => {
      const { said, id } = await stuck({ resultLink: "early", instanceVisible: "when-done" });
      expect(said).toContain(`(${id})`);
      expect(said).toContain("Run the command again to keep waiting for the creation");
      expect(said).toContain("To wait longer, increase `customTimeouts.delete`");
      expect(said).toMatch(/If the operation never ends, .*pulumi state delete <urn>/);
      expect(said).not.toContain("finished the deletion");
    });
  });

  describe("whose operation the service doesn't return, although the creation is still running,", () => {
    async function running(behaviour: Partial<Behaviour>) {
      const { service, web } = await oneInstance({
        behaviour: { operationMs: 3_600_000, instanceVisible: "when-done", ...behaviour },
      });
      await service.clock.sleep(60_000); // lists already return the project
      await web.up(SHORT);
      const path = "/v1/operations/";
      const hidden = service.emulator.fail({
        path,
        kind: "status",
        status: 404,
        times: Number.POSITIVE_INFINITY,
      });
      return { service, web, hidden, id: web.inState().id };
    }

    test.each([204, 202] as const)(
      "isn't confirmed if the id of its object is known (%d)",
      async (deleteObject) => {
        const { service, web, hidden, id } = await running({ resultLink: "early", deleteObject });
        const said = await web.destroy();
        expect(said).toContain("the service no longer reports operation");
        expect(said).toContain(`Check in the service whether instance ${id} exists`);
        expect(said).toContain("pulumi state delete <urn>");
        expect(web.inState().id).toBe(id);
        hidden.off();
        service.emulator.finishOperations();
        service.emulator.behaviour.operationMs = 100;
        expect(await web.destroy()).toBeUndefined();
        expect(service.emulator.instances.size).toBe(0);
      },
    );

    test("isn't confirmed if the id of its object is unknown", async () => {
      const { service, web, hidden, id } = await running({});
      expect(await web.destroy()).toContain("recover --forget <urn>");
      expect(web.inState().id).toBe(id);
      hidden.off();
      service.emulator.finishOperations();
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(0);
    });

    test("deletes its object as soon as the service returns the object", async () => {
      const { service, web } = await running({ resultLink: "early" });
      service.emulator.finishOperations();
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(0);
    });
  });

  test("deletes nothing if its key has expired", async () => {
    const { service, web } = await placeholder();
    const { id, inputs, state } = web.inState();
    const { operation, ...pending } = Object(state.__pending);
    expect(operation).toBeDefined();
    web.saved = { id, inputs, state: { ...state, __pending: { ...pending, at: 1 } } };
    await web.removeEntry();
    service.emulator.finishOperations();
    expect(await web.destroy()).toContain("more than 23 hours ago");
    expect(service.emulator.instances.size).toBe(1);
  });
});
