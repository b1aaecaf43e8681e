import { describe, expect, test } from "vitest";
import { fastClock } from "../../polling/fast-clock";
import { OneInstance, oneInstance } from "../one-instance";
import { type Service, startService } from "../service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };
const LARGE = { ...SHORT, flavor: "m1.large" };

/** An instance whose creation takes longer than it may, and whose id is known. */
async function slowCreation({ fails = false, leaveObject = false } = {}) {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000, resultLink: "early" } });
  if (fails) service.emulator.failNextOperation({ kind: "create", leaveObject });
  await web.up(SHORT);
  expect(web.inState().id).toBe([...service.emulator.instances.keys()][0]);
  return { service, web };
}

/** An instance whose update to a larger flavor was accepted, and takes longer than it may. */
async function slowUpdate(more: Record<string, unknown> = LARGE, behaviour = {}) {
  const { service, web } = await oneInstance({ behaviour: { putReply: 202, ...behaviour } });
  await web.up(SHORT);
  const before = web.inState();
  service.emulator.behaviour.operationMs = 3_600_000;
  const said = await web.up(more);
  return { service, web, before, said };
}

const puts = ({ emulator }: Service) => emulator.requests.filter(({ method }) => method === "PUT");
const flavor = ({ emulator }: Service) => [...emulator.instances.values()].map(({ fields }) => fields.flavor);

describe("an instance in the state whose creation is still running", () => {
  test("is awaited again, even twice, and then updated to match the program", async () => {
    const { service, web } = await slowCreation();
    const before = web.inState();
    expect(await web.up(SHORT)).toContain("timed out after");
    expect(web.inState()).toMatchObject({ id: before.id, state: { __pending: before.state.__pending } });
    service.emulator.finishOperations();
    expect(await web.up(LARGE)).toBeUndefined();
    await web.expectOne();
    expect(flavor(service)).toEqual(["m1.large"]);
  });

  test("causes an error if its operation failed and left nothing, and the next `up` recreates it", async () => {
    const { service, web } = await slowCreation({ fails: true });
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(service.emulator.instances.size).toBe(0);
    expect(await web.up(SHORT)).toContain("capacity_exhausted");
    expect(web.inState().state).toMatchObject({ __pending: { failed: true } });
    expect(await web.up(SHORT)).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test("is replaced if its operation failed and left the object", async () => {
    for (const between of [() => {}, (web: OneInstance) => web.refresh()]) {
      const { service, web } = await slowCreation({ fails: true, leaveObject: true });
      const broken = web.inState().id;
      service.emulator.finishOperations();
      service.emulator.behaviour.operationMs = 2_000;
      expect(service.emulator.instances.get(broken)?.status).toBe("error");
      await between(web);
      for (let run = 0; run < 2 && web.inState().id === broken; run++) {
        expect(web.inState().state).toHaveProperty("__pending");
        await web.up(SHORT);
      }
      expect(web.inState().id).not.toBe(broken);
      await web.expectOne();
    }
  });

  test("stays marked as failed through a refresh", async () => {
    const { service, web } = await slowCreation({ fails: true, leaveObject: true });
    service.emulator.finishOperations();
    expect(await web.up(SHORT)).toContain("capacity_exhausted");
    expect(web.inState().state).toMatchObject({ __pending: { failed: true } });
    for (const id of service.emulator.operations.keys()) service.emulator.remove(id);
    await web.refresh();
    expect(web.inState().state).toMatchObject({ __pending: { failed: true } });
  });

  test("is not recreated if neither it nor its operation can be found", async () => {
    const { service, web } = await slowCreation();
    const { id } = web.inState();
    for (const operation of service.emulator.operations.keys()) service.emulator.remove(operation);
    service.emulator.remove(id);
    for (const _ of [1, 2]) {
      const said = await web.up(SHORT);
      expect(said).toContain("code operation_unknown");
      expect(said).toContain("pulumi state delete");
      await web.refresh();
      expect(web.inState().id).toBe(id);
    }
    expect(web.posts()).toHaveLength(1);
  });

  test("doesn't count as failed if the token can no longer read its project", async () => {
    const { service, web } = await slowCreation();
    service.emulator.finishOperations();
    const { projects, instances } = service.emulator;
    for (const id of [...instances.keys(), ...projects.keys()]) service.emulator.remove(id);
    const said = await web.up({ __timeouts: { update: "5m" } }, { clock: fastClock(100) });
    expect(said).toContain("the token may belong to another account");
    expect(web.inState().state).not.toMatchObject({ __pending: { failed: true } });
  });

  test("is awaited even if the service doesn't support GET", async () => {
    const { service, web } = await slowCreation();
    service.emulator.finishOperations();
    service.emulator.behaviour.getObject = 404;
    expect(await web.up(SHORT)).toBeUndefined();
    await web.expectOne();
  });

  test("causes an error first if somebody has deleted it", async () => {
    const { service, web } = await slowCreation();
    service.emulator.finishOperations();
    service.emulator.remove(web.inState().id);
    service.emulator.behaviour.operationMs = 2_000;
    const said = await web.up({ __timeouts: { update: "5m" } }, { clock: fastClock(100) });
    expect(said).toContain("no longer exists");
    expect(await web.up(SHORT)).toBeUndefined();
    await web.expectOne();
  });
});

describe("an update that continues after its timeout", () => {
  test("explains what to do if the operation never ends", async () => {
    const { web, said = "" } = await slowUpdate();
    const next = (await web.up(LARGE)) ?? "";
    for (const message of [said, next]) {
      const text = message.replace(/\s+/g, " ");
      expect(text).toContain("Run `pulumi up` again on any machine to keep waiting");
      expect(text).toContain("To wait longer, increase the timeout in the resource's `customTimeouts`");
      expect(text).toMatch(
        /If the operation never ends, set the `import` option .*pulumi state delete <urn>/,
      );
    }
  });

  test("is in the state with its operation, and is awaited by the next `up` on any machine", async () => {
    const { service, web, before, said } = await slowUpdate();
    expect(said).toContain("is still in progress");
    expect(web.inState()).toMatchObject({
      id: before.id,
      state: {
        flavor: "m1.small",
        revision: before.state.revision,
        __pending: { operation: { id: expect.any(String) } },
      },
    });
    expect(await web.up(LARGE, { onAnotherMachine: true })).toContain("timed out after");
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(LARGE)).toBeUndefined();
    expect(web.inState().state).toMatchObject({ flavor: "m1.large" });
    expect(flavor(service)).toEqual(["m1.large"]);
    await web.expectOne();
  });

  test("is recognized even right after an interrupted creation that the same `up` resumed", async () => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 202, operationMs: 3_600_000 } });
    await web.up(SHORT);
    service.emulator.finishOperations();
    expect(await web.up(LARGE)).toContain("is still in progress");
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(flavor(service)).toEqual(["m1.large"]);
    expect(await web.up({ ...SHORT, flavor: "m1.huge" })).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.huge"]);
    await web.expectOne();
  });

  test("is repeated if it fails", async () => {
    const { service, web } = await slowUpdate(SHORT);
    service.emulator.failNextOperation({ kind: "update" });
    await web.up(LARGE);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(flavor(service)).toEqual(["m1.small"]);
    expect(await web.up(LARGE)).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.large"]);
    expect(puts(service).length).toBeGreaterThan(1);
  });

  test("doesn't make somebody else's value count as normalized if it fails", async () => {
    const { service, web } = await slowUpdate(SHORT, { normalize: ["ids"] });
    service.emulator.failNextOperation({ kind: "update" });
    await web.up(LARGE);
    service.emulator.finishOperations();
    service.emulator.edit(web.inState().id, { flavor: "theirs" });
    expect(await web.up(LARGE)).toContain("another client changed flavor");
    expect(flavor(service)).toEqual(["theirs"]);
  });

  test("is reverted if the program is reverted", async () => {
    const { service, web } = await slowUpdate();
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(flavor(service)).toEqual(["m1.large"]);
    expect(await web.up(SHORT)).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.small"]);
    expect(web.inState().state).toMatchObject({ flavor: "m1.small" });
    await web.expectOne();
  });

  test("is awaited and reverted if the program is reverted after a refresh, which clears the engine's error", async () => {
    const { service, web } = await slowUpdate();
    await web.refresh();
    expect(await web.up(SHORT)).toContain("timed out after");
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.small"]);
    await web.expectOne();
  });

  test("stays in the state with the earlier revision if a refresh can't find the operation", async () => {
    const { service, web, before } = await slowUpdate();
    service.emulator.fail({ kind: "status", status: 404, path: "/v1/operations/" });
    service.emulator.edit(web.inState().id, { network: "theirs" });
    await web.refresh();
    expect(web.inState().state).toMatchObject({
      network: "theirs",
      revision: before.state.revision,
      __pending: { operation: { id: expect.any(String) } },
    });
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.small"]);
    await web.expectOne();
  });

  test("doesn't overwrite somebody else's later change", async () => {
    const { service, web } = await slowUpdate();
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    service.emulator.edit(web.inState().id, { network: "theirs" });
    expect(await web.up(SHORT)).toContain("another client changed network");
    expect(await web.up(LARGE), "there is nothing left to write").toBeUndefined();
    expect(await web.up(SHORT)).toContain("another client changed network");
    const [instance] = service.emulator.instances.values();
    expect(instance?.fields).toMatchObject({ flavor: "m1.large", network: "theirs" });
  });

  test("whose operation the service has forgotten doesn't keep a conflict through a refresh", async () => {
    for (const fails of [false, true]) {
      const { service, web } = await slowUpdate(SHORT);
      if (fails) service.emulator.failNextOperation({ kind: "update" });
      await web.up(LARGE);
      service.emulator.finishOperations();
      service.emulator.behaviour.operationMs = 2_000;
      for (const operation of service.emulator.operations.keys()) service.emulator.remove(operation);
      service.emulator.edit(web.inState().id, { flavor: "theirs" });
      await web.refresh();
      expect(await web.up(LARGE)).toContain("another client changed flavor");
      expect(flavor(service)).toEqual(["theirs"]);
      await web.refresh();
      expect(web.inState().state).toMatchObject({ flavor: "theirs" });
      expect(await web.up(LARGE)).toBeUndefined();
      expect(flavor(service)).toEqual(["m1.large"]);
      await web.expectOne();
    }
  });

  test("is an error if the service accepts it but doesn't apply it", async () => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 202 } });
    await web.up(SHORT);
    service.emulator.ignoreUpdatesOf("flavor");
    service.emulator.behaviour.operationMs = 3_600_000;
    await web.up(LARGE);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(LARGE)).toContain("did not change flavor");
  });

  test("is not confused with somebody else's change if the service normalizes it", async () => {
    const { service, web } = await slowUpdate({ ...SHORT, publicIp: "auto" }, { ipField: "public_ip" });
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up({ ...SHORT, publicIp: "auto" })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ publicIp: "auto" });
    await web.expectOne();
  });
});

test("an update that is resent after a refresh and times out is applied once its operation has succeeded: capital letters", async () => {
  const { service, web, before: saved } = await slowUpdate(LARGE, { normalize: ["upper-case"] });
  service.emulator.finishOperations();
  web.saved = saved; // the state doesn't know of the update
  await web.refresh();
  expect(web.inState().state).toMatchObject({ flavor: "M1.LARGE" });
  expect(await web.up(LARGE)).toContain("timed out after");
  service.emulator.finishOperations();
  const before = puts(service).length;
  expect(await web.up(LARGE)).toBeUndefined();
  expect(puts(service)).toHaveLength(before);
  await web.expectOne();
});

describe("at a service that shows ids for names, somebody else's value", () => {
  test("is a conflict after the update's operation has ended, and a refresh resolves it", async () => {
    const { service, web } = await slowUpdate(LARGE, { normalize: ["ids"] });
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 2_000;
    service.emulator.edit(web.inState().id, { flavor: "theirs" });
    expect(await web.up(LARGE)).toContain("another client changed flavor");
    expect(flavor(service)).toEqual(["theirs"]);
    await web.refresh();
    expect(await web.up(LARGE)).toBeUndefined();
    expect(flavor(service)).toEqual(["m1.large"]);
    await web.expectOne();
  });

  test("is not suspected if the operation ends while the provider waits", async () => {
    const { service, web } = await slowUpdate(LARGE, { normalize: ["ids"] });
    const looks = (): number =>
      service.emulator.requests.filter(({ path }) => path.includes("/operations/")).length;
    const before = looks();
    const end = (): boolean => {
      if (looks() > before + 1) service.emulator.finishOperations();
      return false;
    };
    service.emulator.fail({ kind: "status", when: end, times: Number.POSITIVE_INFINITY });
    expect(await web.up({ ...LARGE, __timeouts: { update: "10m" } })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ flavor: "m1.large" });
    await web.expectOne();
  });

  test("is a conflict after an accepted update whose result could not be read", async () => {
    const { service, web } = await unread();
    service.emulator.edit(web.inState().id, { flavor: "theirs" });
    expect(await web.up(LARGE)).toContain("another client changed flavor");
    expect(flavor(service)).toEqual(["theirs"]);
  });
});

/** An instance whose update was accepted, at a service that shows ids for names and fails afterwards. */
async function unread() {
  const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"] } });
  await web.up(SHORT);
  let isDown = true;
  const when = (): boolean => isDown && puts(service).length > 0;
  service.emulator.fail({ method: "GET", kind: "status", when, times: Number.POSITIVE_INFINITY });
  expect(await web.up(LARGE)).toContain("The service has accepted the update");
  isDown = false;
  return { service, web };
}

test("an accepted update whose result can't be read is recognized by the next `up`, although the service shows ids for names", async () => {
  const { service, web } = await unread();
  expect(await web.up(LARGE)).toBeUndefined();
  expect(puts(service)).toHaveLength(1);
  expect(web.inState().state).toMatchObject({ flavor: "m1.large" });
  await web.expectOne();
});

describe("a creation whose running operation named another object than its result", () => {
  async function misnamed() {
    const { service, web } = await slowCreation();
    const { id } = web.inState();
    web.saved = { ...web.inState(), id: "None" };
    service.emulator.finishOperations();
    return { service, web, id };
  }

  test("creates nothing else, and a refresh corrects the id", async () => {
    const { web, id } = await misnamed();
    expect(await web.up(SHORT)).toContain(`resulted in instance ${id} instead`);
    await web.refresh();
    expect(web.inState().id).toBe(id);
    expect(await web.up(SHORT)).toBeUndefined();
    await web.expectOne();
  });

  test("leaves no object behind if it is deleted", async () => {
    const { service, web } = await misnamed();
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });
});

test("a replacement after an interrupted update creates another instance before it deletes the old one", async () => {
  const service = await startService({ behaviour: { putReply: 202, operationMs: 5_000 } });
  const stack = new OneInstance(service);
  const args = { name: undefined, __timeouts: { update: "2s" } };
  expect(await stack.up(args)).toBeUndefined();
  const { id } = stack.inState();
  expect(await stack.up({ ...args, flavor: "m1.large" })).toContain("Run `pulumi up` again");
  service.emulator.finishOperations();
  service.emulator.clearRequests();
  expect(await stack.up({ ...args, flavor: "m1.large", image: "alpine-3" })).toBeUndefined();
  const writes = service.emulator.requests.filter(({ method }) => method !== "GET");
  expect(writes.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  expect(stack.inState().id).not.toBe(id);
  expect([...service.emulator.instances.keys()]).toEqual([stack.inState().id]);
});
