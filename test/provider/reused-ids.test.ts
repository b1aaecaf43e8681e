import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { oneInstance } from "./one-instance";
import { existingInstance, existingProject, failureOf, startService } from "./service";

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
  const behaviours: readonly { how: string; behaviour: Partial<Behaviour>; name?: string }[] = [
    { how: "with counters", behaviour: {} },
    { how: "with names", behaviour: { ids: "slug" }, name: "web" },
    { how: "without GET of one instance", behaviour: { getObject: 405 } },
    { how: "with fractional dates in lists", behaviour: { fractionalDates: true } },
  ];

  test.each(behaviours)(
    "makes a refresh remove the resource from the state, $how",
    async ({ behaviour, name }) => {
      const { service, web, id, isLeftAlone } = await replacedByOthers(behaviour, name);
      await web.refresh();
      expect(web.saved).toBeUndefined();
      expect(service.warnings).toEqual([
        expect.stringContaining(`instance ${id} no longer exists: another instance`),
      ]);
      expect(isLeftAlone()).toBe(true);
    },
  );

  test("stays when the next `up` after a refresh recreates the resource's own", async () => {
    const { web, isLeftAlone, id } = await replacedByOthers();
    await web.refresh();
    expect(await web.up({ name: "web" })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(isLeftAlone()).toBe(true);
  });

  test.each(behaviours)("is not updated, $how", async ({ behaviour, name }) => {
    const { web, isLeftAlone, sent } = await replacedByOthers(behaviour, name);
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
  service.emulator.behaviour.spelling = (now) => ({ ...now, created_at: "2026-01-01T00:20:00Z" });
  expect(await (await service.newProviders()).projects.read(id, state)).toMatchObject({ id });
});

test.each([
  ["a second later", "2026-01-01T00:00:03Z"],
  ["earlier", "2025-12-31T23:59:59Z"],
  ["later, but without a time zone", "2026-01-01T01:00:00"],
  ["as null", null],
  ["in another form", 1_800_000_000],
])("an instance whose creation date is shown %s is still the same one", async (_, date) => {
  const service = await startService();
  const made = await existingInstance(service);
  const state = { ...made.state, createdAt: "2026-01-01T00:00:02Z" };
  service.emulator.behaviour.spelling = (now) => ({ ...now, created_at: date });
  const { instances } = await service.newProviders();
  expect(await instances.read(made.id, state)).toMatchObject({ id: made.id });
  await instances.delete(made.id, state);
  expect(service.emulator.instances.size).toBe(0);
});
