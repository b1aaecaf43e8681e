import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { OneInstance, oneInstance, URN } from "../one-instance";
import { errorOf, existingProject, failureOf, type Service, startService } from "../service";

const ANEW = { image: "debian-14" };
const FIRST_CREATED = { deleteBeforeReplace: false };

/** An instance, and a replacement of it that was killed: the state knows nothing of that. */
async function cutOffReplacement(more: Parameters<typeof startService>[0] = {}) {
  const { service, web } = await oneInstance(more);
  await web.up();
  const { id } = web.inState();
  await web.killedUp(ANEW, FIRST_CREATED);
  const [, other = ""] = service.emulator.instances.keys();
  expect([...service.emulator.instances.keys()]).toEqual([id, other]);
  return { service, web, id, other };
}

const puts = ({ emulator }: Service): number =>
  emulator.requests.filter(({ method }) => method === "PUT").length;

describe("the object of a killed replacement", () => {
  test("becomes the resource's object if the program still declares it", async () => {
    const { web, other } = await cutOffReplacement();
    expect(await web.up(ANEW)).toBeUndefined();
    expect(await web.expectOne()).toBe(other);
  });

  test("is deleted by the next `up` if the program no longer declares it, even without another change", async () => {
    const { service, web, id } = await cutOffReplacement();
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(puts(service)).toBe(0);
  });

  test("is kept with a warning if the resource has the option `retainOnDelete`", async () => {
    const { service, web, id, other } = await cutOffReplacement();
    expect(await web.up({ __retainOnDelete: true })).toBeUndefined();
    expect(web.inState().id).toBe(id);
    expect([...service.emulator.instances.keys()]).toEqual([id, other]);
    expect(service.warnings).toEqual([
      expect.stringMatching(new RegExp(`instance ${other}.* was not deleted`)),
    ]);
    expect(await web.up({ __retainOnDelete: true })).toBeUndefined();
    expect(service.warnings).toHaveLength(1);
  });

  test("is not adopted after an `up` has started to delete it, and is deleted before another replacement is created", async () => {
    const { service, web, other } = await cutOffReplacement({ behaviour: { deleteObject: 202 } });
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 60_000;
    expect(await web.up({ __timeouts: { update: "20s" } })).toContain("timed out after 20 s");
    expect(await web.up(ANEW, FIRST_CREATED)).toBeUndefined();
    service.emulator.finishOperations();
    expect(await web.expectOne()).not.toBe(other);
  });

  test("is deleted by the next `up` beside another change", async () => {
    const { service, web, id } = await cutOffReplacement();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.large");
  });

  test("is deleted if the journal has no reply", async () => {
    const { web, id } = await cutOffReplacement();
    await web.journal.begin(await web.journalEntry());
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("is adopted if it has the former object's id, because the service derives ids from names", async () => {
    const { service, web } = await oneInstance({ behaviour: { ids: "slug", idReuse: true } });
    await web.up({ name: "web" });
    const { id } = web.inState();
    service.emulator.remove(id);
    await web.killedUp({ ...ANEW, name: "web" });
    await web.journal.extend((await web.journalEntry()).key, { id }); // the process has outlived its command
    service.emulator.finishOperations();
    expect(await web.up({ ...ANEW, name: "web" })).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
    expect(web.posts()).toHaveLength(2);
  });

  test.each(["slug", "counter"] as const)(
    "of `up --replace` is adopted if it has the former object's id (ids: %s)",
    async (ids) => {
      const { service, web } = await oneInstance({ behaviour: { ids, idReuse: true } });
      await web.up({ name: "web" });
      const { id } = web.inState();
      service.emulator.remove(id, "instance");
      await web.killedUp({ name: "web" }, { targetReplace: true });
      const { replaces: _replaces, ...entry } = await web.journalEntry();
      await web.writeEntry({ ...entry, id }); // the process has outlived its command
      service.emulator.finishOperations();
      web.saveAsDeleted();
      expect(await web.up({ name: "web" })).toBeUndefined();
      expect(await web.expectOne()).toBe(id);
      expect(web.posts()).toHaveLength(2);
    },
  );

  test("is deleted if it was created in another project and only lists show it", async () => {
    const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
    await web.up();
    const { id } = web.inState();
    await web.killedUp({ project: service.emulator.addProject().id }, FIRST_CREATED);
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("doesn't affect the state if it can't be deleted yet, and its journal entry stays", async () => {
    const { service, web, id } = await cutOffReplacement();
    const before = web.inState();
    service.emulator.fail({ method: "GET", path: "/v1/operations/", kind: "status", status: 403, times: 1 });
    const said = await web.up();
    expect(said).toContain("(403)");
    expect(said).toContain("finish an interrupted creation whose object is no longer needed");
    expect(said).not.toContain("The state records the unfinished creation");
    expect(web.inState()).toEqual(before);
    expect(await web.up()).toBeUndefined();
    expect(await web.expectOne()).toBe(id);
  });

  test("is deleted with the resource", async () => {
    const { service, web } = await cutOffReplacement();
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
    expect(await web.entry()).toBeUndefined();
  });

  test("is not deleted with the old instance while it becomes the resource's object", async () => {
    const { service, web, other } = await cutOffReplacement();
    service.emulator.clearRequests();
    expect(await web.up(ANEW, { deleteBeforeReplace: true })).toBeUndefined();
    expect(await web.expectOne()).toBe(other);
    expect(web.posts()).toEqual([]);
  });
});

test("the object of a creation that is older than the state's resource is not deleted, because another machine may have released it", async () => {
  const { service, web } = await oneInstance();
  await web.killedUp();
  service.emulator.finishOperations();
  const [other = ""] = service.emulator.instances.keys();
  await web.up({}, { onAnotherMachine: true });
  const { id } = web.inState();
  expect(await web.up()).toBeUndefined();
  expect([...service.emulator.instances.keys()]).toEqual([other, id]);
  expect(service.warnings.join()).toMatch(new RegExp(`instance ${other}.* was not deleted`));
  expect(await web.entry()).toBeUndefined();
});

test("an update doesn't fail because the outcome of an older interrupted creation is unknown", async () => {
  const { service, web } = await oneInstance();
  const entry = await web.killedBeforeReply();
  service.emulator.finishOperations();
  const [other = ""] = service.emulator.instances.keys();
  await web.up({}, { onAnotherMachine: true });
  const { id } = web.inState();
  await web.writeEntry({ ...entry, at: 1 });
  expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  expect([...service.emulator.instances.keys()]).toEqual([other, id]);
  expect(service.warnings).toEqual([expect.stringContaining(`may have created instance ${other}, which`)]);
  expect(await web.entry()).toBeUndefined();
});

test("a request that may never have been sent isn't sent for an older interrupted creation", async () => {
  const { service, web } = await oneInstance();
  const entry = await web.killedBeforeReply();
  service.emulator.remove([...service.emulator.instances.keys()][0] ?? "");
  await web.up({}, { onAnotherMachine: true });
  await web.writeEntry({ ...entry, key: randomUUID() });
  expect(await web.up()).toBeUndefined();
  await web.expectOne();
  expect(service.warnings).toEqual([]);
});

test("the warning about an older interrupted creation doesn't show its secret name", async () => {
  const { service, web } = await oneInstance({ behaviour: { ids: "slug" } });
  await web.killedBeforeReply({ __secrets: ["name"], name: "acme-merger-db" });
  service.emulator.finishOperations();
  const second = { __secrets: ["name"], name: "acme-merger-two" };
  expect(await web.up(second, { onAnotherMachine: true })).toBeUndefined();
  expect(await web.up(second)).toBeUndefined();
  expect(service.warnings).toEqual([expect.stringContaining("may have created instance [secret], which")]);
});

test("the object of an older interrupted creation is reported even if lists lag", async () => {
  const { service, web } = await oneInstance({ behaviour: { lagRequests: 2 } });
  const entry = await web.killedBeforeReply();
  service.emulator.finishOperations();
  const [other = ""] = service.emulator.instances.keys();
  await web.up({}, { onAnotherMachine: true });
  await web.writeEntry({ ...entry, at: 1 });
  expect(await web.up()).toBeUndefined();
  expect(service.warnings).toEqual([expect.stringContaining(`may have created instance ${other}, which`)]);
});

describe("the deletion of a project", () => {
  test.each([
    ["", {}],
    [", though the state has the stack's former name", { __urn: URN.replace("pulumi:dev", "pulumi:prod") }],
  ])("also deletes the object of a killed creation in it%s", async (_what, more) => {
    const service = await startService();
    const project = await existingProject(service);
    const { id, state } = project;
    const web = new OneInstance(service, project);
    await web.killedUp(more);
    expect(service.emulator.instances.size).toBe(1);
    await (await service.newProviders()).projects.delete(id, state);
    expect(service.emulator.instances.size).toBe(0);
    expect(service.emulator.projects.size).toBe(0);
    expect(await web.entry()).toBeUndefined();
    const methods = service.emulator.requests
      .filter(({ method }) => method === "DELETE")
      .map(({ path }) => path);
    expect(methods.map((path) => path.split("/")[2])).toEqual(["instances", "projects"]);
  });

  test("doesn't delete the object of a killed creation in another project", async () => {
    const { service, web } = await oneInstance();
    await web.killedUp();
    const { id, state } = await existingProject(service);
    await (await service.newProviders()).projects.delete(id, state);
    expect(service.emulator.instances.size).toBe(1);
    expect(await web.entry()).toBeDefined();
  });

  test("keeps the journal entry of an object that this process has just created", async () => {
    const service = await startService();
    const { id, state } = await existingProject(service);
    const web = new OneInstance(service);
    const { instances, projects } = await service.newProviders();
    const { inputs } = await instances.check({}, web.news());
    const made = await instances.create(inputs);
    expect((await failureOf(projects.delete(id, state))).message).toContain("still holds instances");
    expect([...service.emulator.instances.keys()]).toEqual([made.id]);
    expect(await web.entry()).toMatchObject({ id: made.id });
  });
});

test.each([
  ["", {}],
  [" whose operation the service has purged", { operationKeptMs: 1_000 }],
])("`destroy` deletes both instances after an interrupted replacement%s", async (_, behaviour) => {
  const { service, web } = await oneInstance({ behaviour });
  await web.up();
  // The command is interrupted after the engine has saved the replacement, and before the program removes its journal entry.
  const image = { image: "debian-14" };
  await web.interruptedUp(image, { deleteBeforeReplace: false });
  expect(service.emulator.instances.size).toBe(2);
  await service.clock.sleep(100_000);
  const provider = await web.process();
  for (const { id, state } of [...web.replaced, web.inState()]) await provider.delete(id, state);
  expect(service.emulator.instances.size).toBe(0);
  expect(service.warnings).toEqual([]);
});

/** After a changed `replacementTrigger`, the engine calls check with and without the old inputs, then create, but not diff. */
class TriggeredReplacement extends OneInstance {
  async replaceByTrigger(args: Record<string, unknown>): Promise<string | undefined> {
    const provider = await this.process();
    await provider.check(this.inState().inputs, this.news(args));
    const said = await errorOf(this.apply(provider, this.news(args), { targetReplace: true }));
    return said ?? errorOf(this.deleteReplaced(provider));
  }
}

const SHORT = { __timeouts: { create: "5s", delete: "5s" } };

test("an unfinished creation that `replacementTrigger` replaces is deleted in a later `up` if it outlasts this one", async () => {
  const service = await startService({ behaviour: { operationMs: 3_600_000 } });
  const web = new TriggeredReplacement(service);
  expect(await web.up(SHORT)).toContain("timed out");
  const [stuck] = service.emulator.instances.keys();
  service.emulator.behaviour.operationMs = 0;
  expect(await web.replaceByTrigger(SHORT)).toContain("timed out");
  expect(service.emulator.instances.size).toBe(2);
  service.emulator.finishOperations();
  expect(await web.up(SHORT)).toBeUndefined();
  expect([...service.emulator.instances.keys()]).not.toContain(stuck);
  expect(service.warnings).toEqual([]);
  await web.expectOne();
});

describe("the object of an unfinished creation that another stack has imported", () => {
  async function importedElsewhere() {
    const service = await startService({ behaviour: { operationMs: 3_600_000 } });
    const web = new TriggeredReplacement(service);
    expect(await web.up(SHORT)).toContain("timed out");
    const [id = ""] = service.emulator.instances.keys();
    const importer = await web.process();
    const news = web.news({ __urn: URN.replace(":dev::", ":prod::"), __import: id });
    expect((await importer.create((await importer.check({}, news)).inputs)).id).toBe(id);
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 0;
    return { service, web, id };
  }

  test("is not deleted if `replacementTrigger` replaces the creation", async () => {
    const { service, web, id } = await importedElsewhere();
    expect(await web.replaceByTrigger(SHORT)).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
    expect(await web.up(SHORT)).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
    expect(await web.entry()).toBeUndefined();
  });

  test("is not adopted after the service has rejected a replacement by `replacementTrigger`", async () => {
    const { service, web, id } = await importedElsewhere();
    service.emulator.fail({ method: "POST", kind: "status", status: 422 });
    expect(await web.replaceByTrigger(SHORT)).toContain("(422)");
    expect(await web.up(SHORT)).toBeUndefined();
    expect([...service.emulator.instances.keys()]).toEqual([id, web.inState().id]);
  });
});
