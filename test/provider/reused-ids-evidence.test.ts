import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ApiObject } from "../../src/api/client";
import type { Behaviour } from "../../src/emulator";
import { compareCreated } from "../../src/provider/reused-ids";
import { LastMoment } from "../polling/last-moment";
import { oneInstance } from "./one-instance";
import { projectNews } from "./samples";
import { errorOf, type Service, startService } from "./service";

const REUSE: Partial<Behaviour> = { ids: "counter", idReuse: true };
const HOUR = 3_600_000;

// The local clock agrees with the service's clock, so that the time of the request can be compared with the dates of objects.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function pass({ clock }: Service, ms: number): Promise<void> {
  await clock.sleep(ms);
  vi.setSystemTime(Date.now() + ms);
}

/** Removes the start time from all operations, because the specification requires only the id, the status and the progress (§4.6). */
function omitStart({ emulator }: Service): void {
  for (const operation of emulator.operations.values()) Object.assign(operation, { startedAt: -1 });
}

describe("a later object with another name that has the id of a failed creation's object isn't deleted", () => {
  async function failed() {
    const { service, web } = await oneInstance({ behaviour: { ...REUSE, resultLink: "early" } });
    const { emulator } = service;
    emulator.failNextOperation({ kind: "create", leaveObject: false });
    await web.up();
    const { id, state } = web.inState();
    expect(state.__pending).toMatchObject({ failed: true });
    await pass(service, 6 * HOUR);
    const theirs = emulator.addInstance({ project: web.project, name: "theirs" });
    expect(theirs.id).toBe(id);
    const name = () => emulator.instances.get(id)?.fields.name;
    return { emulator, web, name };
  }

  async function purged() {
    const { emulator, web, name } = await failed();
    for (const operation of emulator.operations.keys()) emulator.remove(operation, "operation");
    return { web, name };
  }

  test("by `up` if the operation was purged", async () => {
    const { web, name } = await purged();
    await web.up();
    expect(name()).toBe("theirs");
  });

  test("by `up` after a refresh if the operation was purged", async () => {
    const { web, name } = await purged();
    await web.refresh();
    await web.up();
    expect(name()).toBe("theirs");
  });

  test("by `destroy` if the operation was purged", async () => {
    const { web, name } = await purged();
    await web.destroy();
    expect(name()).toBe("theirs");
  });

  test("by `destroy` if a running operation now has the id of the operation", async () => {
    const { emulator, web, name } = await failed();
    const times = { startedAt: Date.now(), endsAt: Date.now() + HOUR };
    for (const operation of emulator.operations.values())
      Object.assign(operation, { outcome: "open", error: undefined, ...times });
    await web.destroy();
    expect(name()).toBe("theirs");
  });
});

describe("a later object with another name that has the id of an unfinished creation's object, if operations have no dates,", () => {
  async function undated() {
    const { service, web } = await oneInstance({ behaviour: { ...REUSE, finishedAt: false } });
    const { emulator } = service;
    await web.killedUp();
    emulator.finishOperations();
    omitStart(service);
    const [id = ""] = emulator.instances.keys();
    emulator.remove(id, "instance");
    await pass(service, 6 * HOUR);
    const theirs = emulator.addInstance({ project: web.project, name: "theirs" });
    expect(theirs.id).toBe(id);
    return { emulator, web, id };
  }

  test("isn't adopted", async () => {
    const { web, id } = await undated();
    await web.up();
    expect(web.saved?.id).not.toBe(id);
  });

  test("isn't deleted if the program needs another image", async () => {
    const { emulator, web, id } = await undated();
    await web.up({ image: "debian-14" });
    expect(emulator.instances.get(id)?.fields.name).toBe("theirs");
  });
});

describe("an older object with the requested name that a creation's operation refers to isn't deleted", () => {
  /** The service refers to the object that is in the way. */
  async function inTheWay(behaviour: Partial<Behaviour>) {
    const link = { now: (): void => {} };
    const onRequest = (): void => link.now();
    const { service, web } = await oneInstance({
      behaviour: { resultLink: "early", ...behaviour },
      onRequest,
    });
    const { emulator } = service;
    const other = emulator.addInstance({ project: web.project, name: "web" });
    await pass(service, 24 * HOUR);
    link.now = () => {
      for (const operation of emulator.operations.values())
        if (operation.kind === "create")
          Object.assign(operation, { resultPath: `/v1/instances/${other.id}` });
      if (behaviour.finishedAt === false) omitStart(service);
    };
    const unlink = (): void => {
      link.now = () => {};
    };
    return { service, emulator, web, other, unlink };
  }

  test("if the creation failed and operations have no dates", async () => {
    const { emulator, web, other, unlink } = await inTheWay({ finishedAt: false });
    emulator.failNextOperation({ kind: "create" });
    await web.up();
    unlink();
    emulator.failNextOperation({ kind: "create" });
    await web.up();
    expect(emulator.instances.has(other.id)).toBe(true);
  });

  test("if the operation was purged", async () => {
    const { emulator, web, other, unlink } = await inTheWay({ operationMs: HOUR });
    await web.up({ __timeouts: { create: "5s" } });
    expect(web.inState().id).toBe(other.id);
    unlink();
    emulator.finishOperations();
    for (const operation of emulator.operations.keys()) emulator.remove(operation, "operation");
    emulator.behaviour.operationMs = 0;
    expect(await web.up()).toContain("may not be the result of the creation");
    await web.destroy();
    expect(emulator.instances.has(other.id)).toBe(true);
  });
});

test("an object that somebody renamed after a long creation isn't created twice", async () => {
  const { service, web } = await oneInstance({
    behaviour: { operationMs: 2 * HOUR, instanceVisible: "when-done" },
  });
  const { emulator } = service;
  await web.killedUp();
  await pass(service, 2 * HOUR + 1_000);
  emulator.finishOperations();
  const [own] = emulator.instances.values();
  if (own === undefined) throw new Error("nothing was created");
  Object.assign(own, { createdAt: own.createdAt + 2 * HOUR });
  emulator.edit(own.id, { name: "renamed" });
  emulator.behaviour.operationMs = 0;
  await web.up();
  expect([...emulator.instances.keys()]).toEqual([own.id]);
});

test("a project whose creation date becomes the end of its creation isn't created twice if lists omit names", async () => {
  const service = await startService({ behaviour: { getObject: 405, itemsWithout: ["name"] } });
  const { emulator } = service;
  const fault = emulator.fail({
    kind: "lost-reply",
    method: "POST",
    path: "/v1/projects",
    times: Infinity,
  });
  const killed = new LastMoment();
  const { projects } = await service.newProviders({}, killed);
  const { inputs } = await projects.check({}, projectNews());
  await Promise.race([killed.reached, errorOf(projects.create(inputs))]);
  fault.off();
  const [own] = emulator.projects.values();
  if (own === undefined) throw new Error("nothing was created");
  Object.assign(own, { createdAt: own.createdAt + 10 * 60_000 });
  const next = await service.newProviders();
  const { inputs: again } = await next.projects.check({}, projectNews());
  expect(await next.projects.create(again)).toMatchObject({ id: own.id });
  expect([...emulator.projects.keys()]).toEqual([own.id]);
});

test("a project whose creation date becomes the end of its creation is the same if the reply contained its changed name", () => {
  const projectAt = (created_at: string): ApiObject => ({
    id: "prj-1",
    fields: { name: "acme/shop", created_at },
  });
  const pending = { body: JSON.stringify({ name: "shop" }), at: Date.parse("2026-01-01T00:00:00Z") };
  const [reply, now] = [projectAt("2026-01-01T00:00:01Z"), projectAt("2026-01-01T00:10:00Z")];
  expect(compareCreated(now, pending, reply, undefined)).toBe("same");
});

test("the object of a failed creation whose record is damaged stays in the state", () => {
  const object = { id: "ins-1", fields: { name: "web", created_at: "2026-01-01T00:00:00Z" } };
  expect(compareCreated(object, { body: "damaged", failed: true }, undefined, undefined)).toBe("same");
});

test.each([
  ["web", "00:00:01", "same"],
  ["theirs", "12:00:00", "different"],
])(
  "an object (%s) is compared with its operation in UTC if the dates have no time zone (%s)",
  (name, time, match) => {
    const object = { id: "ins-1", fields: { name, created_at: `2026-01-01T${time}` } };
    const pending = { body: JSON.stringify({ name: "web" }), at: Date.parse("2026-01-01T00:00:00Z") };
    const dates = { startedAt: "2026-01-01T00:00:00", finishedAt: "2026-01-01T00:00:02" };
    const operation = { id: "op-1", url: "/v1/operations/op-1", status: "done", ...dates };
    expect(compareCreated(object, pending, operation, undefined)).toBe(match);
  },
);

test.each([
  ["the service changes names", "my-web", 9, {}],
  ["the operation has no end", "my-web", undefined, {}],
  ["the operation no longer exists", "my web", "purged", {}],
  ["the creation has failed, and its operation no longer exists", "my web", "purged", { failed: true }],
] as const)("local dates prove nothing against the clock of this machine: %s", (_, name, end, more) => {
  for (const zone of [8, 2, -5]) {
    const local = (seconds: number): string =>
      new Date(Date.UTC(2026, 0, 1, 12 + zone, 0, seconds)).toISOString().replace(".000Z", "");
    const object = { id: "ins-1", fields: { name, created_at: local(5) } };
    const pending = { body: JSON.stringify({ name: "my web" }), at: Date.UTC(2026, 0, 1, 12), ...more };
    const ends = typeof end === "number" ? { finishedAt: local(end) } : {};
    const operation = {
      id: "op-1",
      url: "/v1/operations/op-1",
      status: "done",
      startedAt: local(1),
      ...ends,
    };
    const evidence = end === "purged" ? undefined : operation;
    expect(compareCreated(object, pending, evidence, undefined)).toBe("same");
  }
});

test("a creation that starts late and fails causes an error with the reason, even if the service changes names", async () => {
  let start = (): void => {};
  const { service, web } = await oneInstance({
    behaviour: {
      operationMs: 4 * HOUR,
      spelling: (instance) => ({ ...instance, name: `acme/${String(instance.name)}` }),
    },
    onRequest: () => start(),
  });
  const { emulator } = service;
  const startedAt = Date.now() + 1.5 * HOUR;
  start = () => {
    for (const operation of emulator.operations.values()) Object.assign(operation, { startedAt });
  };
  const slow = { __timeouts: { create: "5h" } };
  emulator.failNextOperation({ kind: "create", leaveObject: true });
  expect(await web.up(slow)).toContain("capacity_exhausted");
  expect([...emulator.instances.keys()]).toEqual([web.inState().id]);
});
