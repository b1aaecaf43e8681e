import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { START } from "../service";

describe("an interrupted creation whose operation can't be found", () => {
  async function purged(args: Properties = {}, behaviour: Partial<Behaviour> = {}) {
    const { service, web } = await oneInstance({ behaviour });
    await web.killedUp(args);
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
    expect(await web.journalEntry()).toEqual(before);
  });

  test("is not replaced silently if the token belongs to an account that doesn't know the key, either", async () => {
    const { service, web, operation, id } = await purged();
    service.emulator.remove(operation);
    service.emulator.behaviour.keyRetentionMs = 0;
    const said = await web.up();
    const [, other] = service.emulator.instances.keys();
    expect(said).toContain(`the service lists ${id}, ${other} with the same name`);
    expect(said).not.toContain("Nothing was created");
    expect((await web.journalEntry()).operation?.id).toBe(operation);
  });

  test.each([
    ["its key is still valid", Date.now()],
    ["its key has expired", Date.now() - 30 * 3_600_000],
  ])("is resumed if its journal entry contains the id of its object, and %s", async (_, at) => {
    const { service, web, operation, id } = await purged({ name: undefined });
    await web.writeEntry({ ...(await web.journalEntry()), at, id });
    service.emulator.remove(operation);
    expect(await web.up({ name: undefined, flavor: "m1.large" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test.each([
    ["another name", { name: "db" }, 0],
    ["the same name, but was created hours later", { name: "web" }, 3 * 3_600_000],
  ])(
    "is not resumed if the object with the recorded id has %s, and nothing is changed",
    async (_, args, laterMs) => {
      const { service, web, operation, id } = await purged(
        { name: "web" },
        { ids: "counter", idReuse: true },
      );
      const { emulator, clock } = service;
      await web.writeEntry({ ...(await web.journalEntry()), at: START + clock.now(), id });
      emulator.remove(operation, "operation");
      emulator.remove(id, "instance");
      await clock.sleep(laterMs);
      const theirs = emulator.addInstance({ project: web.project, ...args });
      expect(theirs.id).toBe(id);
      expect(await web.up({ name: "web", flavor: "m1.large" })).toContain("so the outcome is unknown");
      expect(await web.up({ name: "web", image: "debian-14" })).toContain("so the outcome is unknown");
      expect([...emulator.instances.values()]).toEqual([theirs]);
      expect(theirs.fields.flavor).toBe("m1.small");
    },
  );

  test("is not resumed if the object with the recorded id can't be found, which proves nothing", async () => {
    const { service, web, operation, id } = await purged();
    await web.writeEntry({ ...(await web.journalEntry()), id });
    service.emulator.remove(operation);
    service.emulator.remove(id);
    expect(await web.up()).toContain("so the outcome is unknown");
    expect(web.keys()).toBe(1);
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

test.each([400, 403])(
  "a failed creation is reported with its reason even if each GET returns %i",
  async (status) => {
    const { service, web } = await oneInstance({ behaviour: { resultLink: "early" } });
    const path = /^\/v1\/(instances|projects)\/[^/]+$/;
    service.emulator.fail({ kind: "status", method: "GET", path, status, times: Number.POSITIVE_INFINITY });
    service.emulator.failNextOperation({ kind: "create" });
    expect(await web.up()).toContain("capacity_exhausted");
    expect(web.inState().id).toMatch(/^ins-/); // the object may exist
  },
);

test.each([400, 403])(
  "the object of a failed creation is replaced even if each GET returns %i and lists lag",
  async (status) => {
    const { service, web } = await oneInstance({ behaviour: { resultLink: "early", lagMs: 20_000 } });
    await service.clock.sleep(60_000);
    const path = /^\/v1\/(instances|projects)\/[^/]+$/;
    service.emulator.fail({ kind: "status", method: "GET", path, status, times: Number.POSITIVE_INFINITY });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    expect(await web.up()).toContain("capacity_exhausted");
    await service.clock.sleep(60_000);
    expect(await web.up()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(1);
  },
);

test("a resumed creation adopts an object that slow lists show late", async () => {
  let listMs = 0;
  const { service, web } = await oneInstance({
    behaviour: {
      getObject: 405,
      spelling: (instance, place) => {
        if (place === "item" && instance.name === "other") void service.clock.sleep(listMs);
        return instance;
      },
    },
  });
  const { emulator, clock } = service;
  emulator.addInstance({ project: web.project, name: "other" });
  await clock.sleep(60_000);
  emulator.behaviour.lagMs = 45_000;
  await web.killedUp();
  emulator.finishOperations();
  listMs = 10_000;
  expect(await web.up()).toBeUndefined();
  expect(emulator.instances.size).toBe(2);
});

test("a creation whose name the service normalizes is resumed even if operations contain no end time", async () => {
  const spelling = (now: Readonly<Record<string, unknown>>) => ({
    ...now,
    ...("name" in now && { name: String(now.name).replaceAll(" ", "-") }),
  });
  const { service, web } = await oneInstance({ behaviour: { finishedAt: false, spelling } });
  await web.killedUp({ name: "my web" });
  service.emulator.finishOperations();
  expect(await web.up({ name: "my web" })).toBeUndefined();
  expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
});

test("a saved creation isn't dropped if the token doesn't see the project that the program still contains", async () => {
  const { service, web } = await oneInstance();
  await web.up({}, { unconfirmed: true });
  service.emulator.remove(web.inState().id, "instance");
  service.emulator.remove(web.project, "project");
  web.saved = undefined;
  expect(await web.up({ image: "debian-14" })).toContain("lack read access");
  expect(await web.entry()).toBeDefined();
});

test("a saved creation isn't dropped if the token sees neither its project nor the project that the program contains", async () => {
  let hideProjects = (): void => {};
  const { service, web } = await oneInstance({
    behaviour: { forbiddenStatus: 404 },
    onRequest: ({ path }) => path.includes("/operations/") && hideProjects(),
  });
  const { emulator } = service;
  await web.up({}, { unconfirmed: true });
  const { id } = web.inState();
  web.saved = undefined; // the CLI was killed
  hideProjects = () => {
    emulator.behaviour.hiddenProjects = ["*"];
  };
  expect(await web.up({ project: "prj-typo" })).toContain("lack read access");
  hideProjects = () => {};
  emulator.behaviour.hiddenProjects = [];
  expect(await web.up()).toBeUndefined();
  expect([...emulator.instances.keys()]).toEqual([id]);
});

test("a resumed creation that fails for another reason requests no projects, although the program has another project", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp();
  const project = service.emulator.addProject().id;
  const before = service.emulator.requests.length;
  service.emulator.fail({ kind: "status", status: 401, path: /operations/, times: Number.POSITIVE_INFINITY });
  expect(await web.up({ project })).toContain("unauthorized");
  const paths = service.emulator.requests.slice(before).map(({ path }) => path);
  expect(paths.filter((path) => path.startsWith("/v1/projects"))).toEqual([]);
});

describe("an unfinished creation whose project no longer exists", () => {
  async function killed() {
    const { service, web } = await oneInstance();
    await web.killedUp();
    service.emulator.finishOperations();
    const [id = ""] = service.emulator.instances.keys();
    service.emulator.remove(id, "instance");
    service.emulator.remove(web.project, "project");
    return { service, web, id };
  }

  test("fails with an error that explains how to give it up", async () => {
    const { web } = await killed();
    expect(await web.up()).toContain("recover --forget");
  });

  test("is dropped with a warning if its object was saved and the program has another project", async () => {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const { id } = web.inState();
    service.emulator.remove(id, "instance");
    service.emulator.remove(web.project, "project");
    web.saved = undefined; // another machine has deleted the stack's resources
    expect(await web.up({ project: service.emulator.addProject().id })).toBeUndefined();
    expect(service.warnings.join()).toContain(`an interrupted run created instance ${id}`);
    expect(web.inState().id).not.toBe(id);
  });

  test("is dropped with a warning if another machine has created the resource since then", async () => {
    const { service, web, id } = await killed();
    await service.clock.sleep(60_000);
    const project = service.emulator.addProject().id;
    expect(await web.up({ project }, { onAnotherMachine: true })).toBeUndefined();
    expect(await web.up({ project, flavor: "m1.large" })).toBeUndefined();
    expect(service.warnings.join()).toContain(`an interrupted run created instance ${id}`);
    expect(await web.entry()).toBeUndefined();
  });
});

describe("an unfinished creation can be given up", () => {
  test("if the service has stored a failure for its key, but returns no trace ids", async () => {
    const { service, web } = await oneInstance({ behaviour: { traceIds: "missing" } });
    const failure = {
      method: "POST",
      path: "/v1/instances",
      kind: "status",
      status: 500,
      cached: true,
    } as const;
    service.emulator.fail(failure);
    await web.up();
    expect(await web.up()).toContain("--forget");
  });

  test("if its finished operation has no link to the object", async () => {
    const { web } = await oneInstance({ behaviour: { resultLink: "missing" } });
    expect(await web.up()).toContain("--forget");
  });
});

describe("the id that an interrupted resumption has recorded is sufficient if the operation is purged later:", () => {
  async function resumedWithoutRead() {
    const { service, web } = await oneInstance();
    const { emulator } = service;
    await web.up({ __timeouts: { create: "1s" } });
    emulator.finishOperations();
    const outage = emulator.fail({ kind: "status", method: "GET", path: "/v1/instances/", times: 99 });
    expect(await web.up()).toContain("(503)");
    outage.off();
    for (const one of emulator.operations.keys()) emulator.remove(one, "operation");
    return { emulator, web };
  }

  test("`up` adopts the object", async () => {
    const { emulator, web } = await resumedWithoutRead();
    const [id] = emulator.instances.keys();
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("`destroy` deletes the object", async () => {
    const { emulator, web } = await resumedWithoutRead();
    expect(await web.destroy()).toBeUndefined();
    expect(emulator.instances.size).toBe(0);
  });
});
