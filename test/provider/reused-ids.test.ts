import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { oneInstance } from "./one-instance";
import { errorOf, existingInstance, existingProject, failureOf, START, startService } from "./service";

/** Returns the time that many seconds after the start of the service. */
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString().replace(".000", "");

const REUSING = { ids: "counter", idReuse: true } as const;

/** An instance that somebody has deleted, and another one that has its id since. */
async function replacedByOthers(behaviour: Partial<Behaviour> = {}, others = "db") {
  const { service, web } = await oneInstance({ behaviour: { ...REUSING, ...behaviour } });
  const { emulator, clock } = service;
  await web.up({ name: "web" });
  const { id } = web.inState();
  await clock.sleep(2_000);
  emulator.remove(id, "instance");
  const theirs = emulator.addInstance({ project: web.project, name: others, image: "postgres" });
  expect(theirs.id).toBe(id);
  emulator.clearRequests();
  const isLeftAlone = () => emulator.instances.get(id) === theirs && theirs.fields.image === "postgres";
  const sent = () => emulator.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
  return { service, web, id, isLeftAlone, sent };
}

describe("another instance that has the id of a deleted one", () => {
  const behaviours: readonly { how: string; behaviour: Partial<Behaviour> }[] = [
    { how: "with counters", behaviour: {} },
    { how: "without GET of one instance", behaviour: { getObject: 405 } },
    { how: "with fractional dates in lists", behaviour: { fractionalDates: true } },
  ];

  test.each(behaviours)("makes a refresh remove the resource from the state, $how", async ({ behaviour }) => {
    const { service, web, id, isLeftAlone } = await replacedByOthers(behaviour);
    await web.refresh();
    expect(web.saved).toBeUndefined();
    expect(service.warnings).toEqual([
      expect.stringContaining(`instance ${id} no longer exists: another instance`),
    ]);
    expect(isLeftAlone()).toBe(true);
  });

  test("stays when the next `up` after a refresh recreates the resource's own", async () => {
    const { web, isLeftAlone, id } = await replacedByOthers();
    await web.refresh();
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(isLeftAlone()).toBe(true);
  });

  test.each(behaviours)("is not updated, $how", async ({ behaviour }) => {
    const { web, isLeftAlone, sent } = await replacedByOthers(behaviour);
    const said = await web.up({ name: "web", flavor: "m1.large" });
    expect(said).toContain("now has its id");
    expect(said).toContain("run `pulumi refresh` to remove");
    expect(sent()).toEqual([]);
    expect(isLeftAlone()).toBe(true);
  });

  test("is not deleted by a process that has read it", async () => {
    const { service, web, isLeftAlone, sent } = await replacedByOthers();
    const { id, state } = web.inState();
    const { instances } = await service.newProviders();
    await failureOf(instances.update(id, state, { ...web.inState().inputs, flavor: "m1.large" }));
    await instances.delete(id, state);
    expect(sent()).toEqual([]);
    expect(isLeftAlone()).toBe(true);
    expect(service.warnings).toEqual([expect.stringContaining('another instance "db"')]);
  });

  test("doesn't keep the deletion of the former one from being confirmed", async () => {
    const { service, web } = await oneInstance({ behaviour: REUSING });
    const { emulator, clock } = service;
    await web.up({ name: "web" });
    const { id } = web.inState();
    await clock.sleep(2_000);
    let isTaken = false;
    emulator.fail({
      kind: "reset",
      method: "GET",
      when: () => {
        if (!isTaken && !emulator.instances.has(id)) {
          isTaken = true;
          emulator.addInstance({ project: web.project, name: "db" });
        }
        return false;
      },
    });
    expect(await web.destroy()).toBeUndefined();
    expect(emulator.instances.get(id)?.fields.name).toBe("db");
    expect(emulator.requests.filter(({ method }) => method === "DELETE")).toHaveLength(1);
  });

  test("proves nothing if the project isn't visible: the token may belong to another account", async () => {
    const { service, web } = await replacedByOthers();
    service.emulator.remove(web.project, "project");
    const { id, state } = web.inState();
    const error = await failureOf((await service.newProviders()).instances.read(id, state));
    expect(error.message).toContain("the token may belong to another account");
  });
});

/** An instance whose creation date is later than in the state, because the service has rebuilt it. */
async function rebuilt(laterMs: number, { name, ...fields }: { name?: string; image?: string } = {}) {
  const { service, web } = await oneInstance();
  const { emulator } = service;
  await web.up({ name });
  await web.refresh();
  const { id } = web.inState();
  const one = emulator.instances.get(id);
  if (one === undefined) throw new Error("no instance");
  Object.assign(one, { createdAt: one.createdAt + laterMs });
  emulator.edit(id, fields);
  emulator.clearRequests();
  const sent = () => emulator.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
  return { service, web, id, sent };
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe("an instance with a later creation date than in the state", () => {
  test.each([
    { how: "its generated name", laterMs: DAY_MS },
    { how: "its name and the creation may have ended at the later date", laterMs: MINUTE_MS, name: "web" },
  ])("is the same one if it still has $how", async ({ laterMs, name }) => {
    const { service, web, id, sent } = await rebuilt(laterMs, { ...(name && { name }) });
    await web.refresh();
    expect(service.emulator.requests).toHaveLength(1);
    expect(await web.up({ name, flavor: "m1.large" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(sent()).toEqual(["PUT"]);
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
    expect(service.warnings).toEqual([]);
  });

  test.each([
    { how: "the name is from the program", laterMs: DAY_MS, fields: {} },
    { how: "the image differs", laterMs: MINUTE_MS, fields: { image: "postgres" } },
  ])("may be another one if $how: nothing is changed or removed from the state", async (given) => {
    const { service, web, id, sent } = await rebuilt(given.laterMs, { name: "web", ...given.fields });
    const { state, inputs } = web.inState();
    const { instances } = await service.newProviders();
    for (const work of [
      () => instances.read(id, state),
      () => instances.update(id, state, { ...inputs, flavor: "m1.large" }),
      () => instances.delete(id, state),
    ])
      expect((await failureOf(work())).message).toContain(
        "may now be a different instance: it was created at",
      );
    expect(sent()).toEqual([]);
    expect(service.emulator.instances.size).toBe(1);
  });

  test("is deleted only when the service no longer returns it", async () => {
    const { service, web } = await rebuilt(DAY_MS);
    Object.assign(service.emulator.behaviour, { softDelete: "ending", softDeleteMs: 5_000 });
    const before = service.clock.now();
    expect(await web.destroy()).toBeUndefined();
    expect(service.clock.now() - before).toBeGreaterThan(5_000);
  });

  test("is managed again after `pulumi state delete` and an `up` with the `import` option", async () => {
    const { web, id, sent } = await rebuilt(DAY_MS, { name: "web" });
    web.saved = undefined;
    expect(await web.up({ name: "web", __import: id })).toBeUndefined();
    await web.refresh();
    expect(await web.expectOne()).toBe(id);
    expect(sent()).toEqual([]);
  });

  test.each([{ how: "a generated name" }, { how: "a name from the program", name: "web" }])(
    "is the same one with $how if the date was the start of the creation, and reads lag",
    async ({ name }) => {
      const behaviour: Partial<Behaviour> = {
        ...{ operationMs: 500, lagMs: 2_500, lagIn: "reads", lagPart: "fields" },
        spelling: (shown) => ({
          ...shown,
          ...(shown.status === "running" && { created_at: at(60) }),
        }),
      };
      const { service, web } = await oneInstance({ behaviour });
      await web.up({ name });
      expect(web.inState().state).toMatchObject({ createdAt: expect.stringContaining(at(0).slice(0, 19)) });
      await service.clock.sleep(3_000);
      await web.refresh();
      expect(web.inState().state).toMatchObject({ createdAt: at(60) });
      expect(await web.up({ name })).toBeUndefined();
      await web.expectOne();
      expect(service.warnings).toEqual([]);
    },
  );
});

test("another instance with the id and the name of a deleted one is neither managed nor changed", async () => {
  const { web, isLeftAlone, sent } = await replacedByOthers({ ids: "slug" }, "web");
  const { id, state } = web.inState();
  await expect(web.refresh()).rejects.toThrow("may now be a different instance");
  expect(await web.up({ name: "web", flavor: "m1.large" })).toContain("may now be a different instance");
  expect(web.inState()).toMatchObject({ id, state });
  expect(sent()).toEqual([]);
  expect(isLeftAlone()).toBe(true);
});

test("a project with the id of the recorded one, created later, is neither deleted nor taken for a deletion", async () => {
  const service = await startService({ behaviour: REUSING });
  const { emulator, clock } = service;
  const { id, state } = await existingProject(service);
  await clock.sleep(2 * 3_600_000);
  emulator.remove(id, "project");
  expect(emulator.addProject({ name: "theirs" }).id).toBe(id);
  const { projects } = await service.newProviders();
  for (const work of [() => projects.read(id, state), () => projects.delete(id, state)])
    expect((await failureOf(work())).message).toContain("the token may belong to another account");
  expect(emulator.projects.get(id)?.fields.name).toBe("theirs");
});

test("a creation date in the reply to a request isn't compared to the second with later replies", async () => {
  const service = await startService();
  const { id, state } = await existingProject(service);
  service.emulator.behaviour.spelling = (now) => ({ ...now, created_at: at(20 * 60) });
  expect(await (await service.newProviders()).projects.read(id, state)).toMatchObject({ id });
});

test.each([
  ["a second later", at(3)],
  ["earlier", at(-1)],
  ["at the same time, but without a time zone", at(2).replace("Z", "")],
  ["as null", null],
  ["in another form", 1_800_000_000],
])("an instance whose creation date is shown %s is still the same one", async (_, date) => {
  const service = await startService();
  const made = await existingInstance(service);
  const state = { ...made.state, createdAt: at(2) };
  service.emulator.behaviour.spelling = (now) => ({ ...now, created_at: date });
  const { instances } = await service.newProviders();
  expect(await instances.read(made.id, state)).toMatchObject({ id: made.id });
  await instances.delete(made.id, state);
  expect(service.emulator.instances.size).toBe(0);
});

test.each([
  ["items of lists", "item"],
  ["single objects", "object"],
])("a reused id is noticed even if only the dates of %s have no time zone", async (_what, bare) => {
  const spelling: Behaviour["spelling"] = (now, place) =>
    place === bare ? { ...now, created_at: String(now.created_at).replace(/Z$/, "") } : now;
  const { service, web } = await oneInstance({ behaviour: { ...REUSING, spelling } });
  await web.up();
  const { id, state } = web.inState();
  service.emulator.remove(id, "instance");
  await service.clock.sleep(2 * 3_600_000);
  expect(service.emulator.addInstance({ name: "theirs", project: web.project }).id).toBe(id);
  const { instances } = await service.newProviders();
  const others = Promise.all(["98", "99"].map((other) => errorOf(instances.read(other, state)))); // so that a list is used
  expect(await instances.read(id, state)).toEqual({});
  await others;
});

test("an instance with another name that was created two days later is noticed even if the dates have no time zone", async () => {
  const { service, web } = await oneInstance({
    behaviour: {
      ids: "counter",
      idReuse: true,
      spelling: (now) => ({ ...now, created_at: String(now.created_at).replace("Z", "") }),
    },
  });
  const { emulator, clock } = service;
  await web.up();
  const { id } = web.inState();
  emulator.remove(id, "instance");
  await clock.sleep(48 * 3_600_000);
  emulator.addInstance({ project: web.project, name: "theirs", flavor: "m1.large" });
  await web.refresh();
  expect(await web.up()).toBeUndefined();
  expect(web.inState().id).not.toBe(id);
  expect(emulator.instances.get(id)?.fields).toMatchObject({ name: "theirs", flavor: "m1.large" });
});
