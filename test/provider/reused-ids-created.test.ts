import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { compareCreated } from "../../src/provider/reused-ids";
import { LastMoment } from "../polling/last-moment";
import { oneInstance } from "./one-instance";
import { projectNews } from "./samples";
import { errorOf, existingInstance, START, startService } from "./service";

const REUSE: Partial<Behaviour> = { ids: "counter", idReuse: true };
const HOUR = 3_600_000;

describe("an object with another name that has the id of an unfinished creation's object", () => {
  async function addedTwelveHoursLater() {
    const { service, web } = await oneInstance({ behaviour: { ...REUSE, finishedAt: false } });
    const { emulator, clock } = service;
    await web.killedUp();
    emulator.finishOperations();
    const [id = ""] = emulator.instances.keys();
    emulator.remove(id, "instance");
    await clock.sleep(12 * HOUR);
    const theirs = emulator.addInstance({ project: web.project, name: "theirs" });
    expect(theirs.id).toBe(id);
    return { emulator, web, id };
  }

  test("isn't adopted twelve hours later if operations contain no end time", async () => {
    const { web, id } = await addedTwelveHoursLater();
    const said = await web.up();
    expect({ said, id: web.saved?.id }).not.toMatchObject({ said: undefined, id });
  });

  test("isn't deleted if operations contain no end time and the program needs another image", async () => {
    const { emulator, web } = await addedTwelveHoursLater();
    await web.up({ image: "debian-14" });
    expect([...emulator.instances.values()].map(({ fields }) => fields.name)).toContain("theirs");
  });

  test("isn't adopted half an hour later if the first reply contained the object", async () => {
    const service = await startService({ behaviour: REUSE });
    const { emulator, clock } = service;
    const fault = emulator.fail({
      kind: "lost-reply",
      method: "POST",
      path: "/v1/projects",
      times: Infinity,
    });
    const killed = new LastMoment();
    const { projects } = await service.newProviders({}, killed);
    const { inputs } = await projects.check({}, projectNews());
    const ended = projects.create(inputs).then(
      () => "created",
      (error: Error) => error.message,
    );
    await Promise.race([killed.reached, ended]);
    fault.off();
    const [id = ""] = emulator.projects.keys();
    emulator.remove(id, "project");
    await clock.sleep(30 * 60_000);
    const theirs = emulator.addProject({ name: "theirs" });
    expect(theirs.id).toBe(id);
    const next = await service.newProviders();
    const { inputs: again } = await next.projects.check({}, projectNews());
    const made: { id?: string } = {};
    await errorOf(next.projects.create(again).then((created) => void Object.assign(made, created)));
    expect(made.id).not.toBe(theirs.id);
  });
});

describe("an object with another name that has the recorded id of a creation whose operation was purged", () => {
  async function reused() {
    const { service, web } = await oneInstance({
      behaviour: { ...REUSE, resultLink: "early", operationMs: HOUR },
    });
    const { emulator, clock } = service;
    await web.up({ __timeouts: { create: "5s" } });
    const { id } = web.inState();
    expect(id).not.toMatch(/^operation/);
    emulator.finishOperations();
    const [operation = ""] = emulator.operations.keys();
    emulator.remove(id, "instance");
    emulator.remove(operation, "operation");
    await clock.sleep(12 * HOUR);
    const theirs = emulator.addInstance({ project: web.project, name: "theirs", flavor: "m1.large" });
    expect(theirs.id).toBe(id);
    emulator.behaviour.operationMs = 0;
    const fields = () => emulator.instances.get(id)?.fields;
    const now = () => new Date(theirs.createdAt).toISOString().replace(/\.\d+/, "");
    return { web, fields, now };
  }

  test("is not changed by `up`", async () => {
    const { web, fields, now } = await reused();
    const said = await web.up();
    expect(fields()).toMatchObject({ name: "theirs", flavor: "m1.large" });
    expect({ said, ...web.inState().state }).not.toMatchObject({ said: undefined, createdAt: now() });
  });

  test("causes an error that explains how to keep or recreate the resource", async () => {
    const { web } = await reused();
    const said = await web.up();
    expect(said).toContain("If it belongs to this resource, set the `import` option to its id");
    expect(said).not.toContain("If the instance doesn't exist");
  });

  test("is not managed after a refresh and `up`", async () => {
    const { web, fields, now } = await reused();
    await web.refresh().catch(() => {});
    const said = await web.up();
    expect(fields()).toMatchObject({ name: "theirs", flavor: "m1.large" });
    expect({ said, ...web.inState().state }).not.toMatchObject({ said: undefined, createdAt: now() });
  });
});

describe("a later operation that has the id of an unfinished creation's operation", () => {
  async function killed() {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [operation] = service.emulator.operations.values();
    if (operation === undefined) throw new Error("nothing was created");
    // The tests' local clock differs from the service's clock.
    await web.writeEntry({ ...(await web.journalEntry()), at: operation.startedAt });
    await service.clock.sleep(6 * HOUR);
    const fields = { project: web.project, name: "theirs", flavor: "m1.large" };
    const theirs = service.emulator.addInstance(fields);
    const now = theirs.createdAt;
    Object.assign(operation, {
      ...{ resultPath: `/v1/instances/${theirs.id}`, startedAt: now, endsAt: now },
      target: { ...operation.target, id: theirs.id, name: "theirs" },
    });
    return { service, web, theirs };
  }

  test("doesn't lead to the adoption of its object", async () => {
    const { service, web, theirs } = await killed();
    const said = await web.up();
    expect({ said, id: web.saved?.id }).not.toMatchObject({ said: undefined, id: theirs.id });
    expect(service.emulator.instances.get(theirs.id)?.fields).toMatchObject({
      name: "theirs",
      flavor: "m1.large",
    });
  });

  test("doesn't lead to the deletion of its object if the program needs another image", async () => {
    const { service, web, theirs } = await killed();
    await web.up({ image: "debian-14" });
    expect(service.emulator.instances.has(theirs.id)).toBe(true);
  });
});

describe("the object with the id from a failed creation isn't deleted if it is a later object of another user", () => {
  async function failed() {
    const { service, web } = await oneInstance({
      behaviour: { ...REUSE, resultLink: "early" },
    });
    const { emulator, clock } = service;
    emulator.failNextOperation({ kind: "create", leaveObject: false });
    const said = await web.up();
    const { id, state } = web.inState();
    expect(said).toBeDefined();
    expect(state.__pending).toMatchObject({ failed: true });
    expect(emulator.instances.has(id)).toBe(false);
    await clock.sleep(24 * HOUR);
    const theirs = emulator.addInstance({ project: web.project, name: "theirs" });
    expect(theirs.id).toBe(id);
    return { service, web, theirs };
  }

  test("by the next `up`", async () => {
    const { service, web, theirs } = await failed();
    await web.up();
    expect(service.emulator.instances.get(theirs.id)?.fields.name).toBe("theirs");
  });

  test("by `destroy`", async () => {
    const { service, web, theirs } = await failed();
    await web.destroy();
    expect(service.emulator.instances.get(theirs.id)?.fields.name).toBe("theirs");
  });

  test("by `destroy`, even if the operation's id now belongs to an operation on that object", async () => {
    const { service, web } = await failed();
    const other = service.emulator.addInstance({ project: web.project, name: "other" });
    for (const operation of service.emulator.operations.values())
      Object.assign(operation, {
        ...{ outcome: "done", startedAt: other.createdAt, endsAt: other.createdAt },
        resultPath: `/v1/instances/${other.id}`,
      });
    await web.destroy();
    expect(service.emulator.instances.has(other.id)).toBe(true);
  });

  test("by a refresh and the next `up`", async () => {
    const { service, web, theirs } = await failed();
    await web.refresh();
    await web.up();
    expect(service.emulator.instances.get(theirs.id)?.fields.name).toBe("theirs");
  });
});

test("an older object that the operation of a failed creation refers to isn't deleted", async () => {
  let linkOperations = (): void => {};
  const onRequest = (): void => linkOperations();
  const { service, web } = await oneInstance({ behaviour: { resultLink: "early" }, onRequest });
  const { emulator } = service;
  const other = Object.assign(emulator.addInstance({ project: web.project, name: "web" }), {
    createdAt: START - 24 * HOUR,
  });
  emulator.failNextOperation({ kind: "create" });
  // A conflict is reported with a link to the object that is in the way.
  linkOperations = () => {
    for (const operation of emulator.operations.values())
      if (operation.kind === "create") Object.assign(operation, { resultPath: `/v1/instances/${other.id}` });
  };
  await web.up();
  linkOperations = () => {};
  emulator.failNextOperation({ kind: "create" });
  await web.up();
  expect(emulator.instances.has(other.id)).toBe(true);
});

test("the object of a retried creation is resumed because of its generated name, even if its creation date has changed", async () => {
  const { service, web } = await oneInstance();
  const { emulator, clock } = service;
  emulator.failNextOperation({ kind: "create" });
  await web.killedUp({ name: undefined });
  const { key } = await web.journalEntry();
  emulator.finishOperations();
  await web.killedUp({ name: undefined }, { pauses: 1 });
  expect((await web.journalEntry()).key).not.toBe(key);
  emulator.finishOperations();
  const [own] = emulator.instances.values();
  if (own === undefined) throw new Error("nothing was created");
  expect(own.fields.name).toBe(`web-${key.slice(0, 7)}`);
  await clock.sleep(3 * HOUR);
  Object.assign(own, { createdAt: own.createdAt + 2 * HOUR }); // somebody has rebuilt the instance
  expect(await web.up({ name: undefined })).toBeUndefined();
  expect([...emulator.instances.keys()]).toEqual([own.id]);
});

/**
 * Returns an instance in the state, and a service that shows another account: each account counts its objects from 1, so its project and
 * its instance have the same ids.
 */
async function otherAccount() {
  const service = await startService({ behaviour: { ...REUSE, operationMs: 0 } });
  const { emulator, clock } = service;
  emulator.addProject({ name: "ours" });
  const saved = await existingInstance(service);
  await clock.sleep(48 * HOUR);
  const created = emulator.instances.get(saved.id)?.createdAt ?? 0;
  const [project = ""] = emulator.projects.keys();
  emulator.remove(saved.id, "instance");
  emulator.remove(project, "project");
  emulator.addProject({ name: "theirs" });
  const theirs = emulator.addInstance({ project, name: "theirs", flavor: "m1.large" });
  Object.assign(theirs, { createdAt: created - 24 * HOUR });
  expect(theirs.id).toBe(saved.id);
  return { service, saved, theirs };
}

describe("a token of another account whose objects have the same ids", () => {
  test("doesn't make a refresh copy the values of an earlier object with another name", async () => {
    const { service, saved } = await otherAccount();
    const { instances } = await service.newProviders();
    const seen: unknown[] = [];
    const said = await errorOf(instances.read(saved.id, saved.state).then((found) => void seen.push(found)));
    expect({ said, seen }).toMatchObject({ said: expect.any(String) });
  });
});

describe("an object that is more than an hour older than the request of an unfinished creation", () => {
  const at = Date.now();
  const before = new Date(at - 2 * HOUR).toISOString();
  const key = "0b8e5a3e-6b6c-4c59-9a39-1f0d3a2b7c11";
  const named = (name: string) => ({ key, at, body: JSON.stringify({ name }) });
  const object = (name: string) => ({
    id: "1",
    fields: { name, created_at: before },
  });
  const operation = { id: "op-1", url: "/operations/op-1", status: "done" };
  const old = { ...operation, startedAt: before, finishedAt: before };
  const startedAt = new Date(at).toISOString();

  test.each([
    ["unclear if the name is the same", object("web"), { ...operation, startedAt }, "unclear"],
    ["unclear if the operation is older, too", object("web"), old, "unclear"],
    ["unclear if the first reply contained it", object("web"), object("web"), "unclear"],
    ["unclear without an operation", object("web"), undefined, "unclear"],
    ["another one if the name differs", object("db"), { ...operation, startedAt }, "different"],
  ] as const)("is %s", (_, shown, evidence, expected) => {
    expect(compareCreated(shown, named("web"), evidence, undefined)).toBe(expected);
  });

  test("is the result if it has the generated name", () => {
    const name = `web-${key.slice(0, 7)}`;
    expect(compareCreated(object(name), named(name), operation, undefined)).toBe("same");
  });
});

test.each(["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])(
  "a zero creation date (%s) proves nothing",
  async (date) => {
    let isNew = true;
    const spelling = (now: object): object => (isNew ? { ...now, created_at: date } : now);
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ name: "web" })).toBeUndefined();
    isNew = false;
    await web.refresh();
    expect(await web.up({ name: "web", flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.size).toBe(1);
  },
);
