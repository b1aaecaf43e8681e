import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { instanceKind } from "../../../src/model/resource-fields";
import { isDeleted, withOmittedFields } from "../../../src/provider/lookup/object-getter";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { oneInstance } from "../one-instance";
import { instanceNews } from "../samples";
import { errorOf, existingInstance, existingProject, failureOf, startService } from "../service";

/** Others' labels and SSH keys on an instance that the state knows, at a service whose list omits both. */
async function othersFields() {
  const { service, web } = await oneInstance({ behaviour: { itemsWithout: ["labels", "ssh_keys"] } });
  await web.up();
  const { id } = web.inState();
  const theirs = { labels: { owner: "them" }, ssh_keys: ["ssh-ed25519 THEIRS"] };
  service.emulator.edit(id, theirs);
  await web.refresh();
  const failGet = (status: number, times: number) =>
    service.emulator.fail({ method: "GET", path: `/v1/instances/${id}`, kind: "status", status, times });
  return { service, web, id, theirs, failGet };
}

describe.each([404, 405, 501])("an instance whose GET is answered with %d", (status) => {
  test("keeps unmanaged labels and keys if that happens once before an update", async () => {
    const { service, web, id, theirs, failGet } = await othersFields();
    failGet(status, 1);
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...theirs, flavor: "m1.large" });
  });

  test("isn't updated while only a list that omits unmanaged labels and keys shows it", async () => {
    const { service, web, id, theirs, failGet } = await othersFields();
    const fault = failGet(status, Number.POSITIVE_INFINITY);
    const said = await web.up({ flavor: "m1.large" });
    expect(said).toContain("without sshKeys, labels, so the update would remove unmanaged values");
    expect(said).toContain("Nothing was overwritten");
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
    fault.off();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...theirs, flavor: "m1.large" });
  });

  test.each([undefined, { flavor: "m1.tiny" }])(
    "has no false drift if that happens once during a refresh and the list shows other values (changed: %j)",
    async (changed) => {
      const spelling: Behaviour["spelling"] = (now, place) =>
        place === "item" ? { ...now, image: "img-4711" } : now;
      const { service, web } = await oneInstance({ behaviour: { spelling } });
      await web.up();
      await web.refresh();
      const { id } = web.inState();
      if (changed !== undefined) service.emulator.edit(id, changed);
      service.emulator.fail({ method: "GET", path: `/v1/instances/${id}`, kind: "status", status });
      await web.refresh();
      expect(web.inState().inputs).toMatchObject({ image: "debian-13", ...changed });
      await web.up();
      await web.expectOne();
    },
  );
});

describe.each([400, 403, 404, 405, 501])(
  "an instance at a service that doesn't define GET of single instances, and returns %d",
  (status) => {
    async function undefinedGet() {
      const scene = await oneInstance();
      const fault = { method: "GET", path: /^\/v1\/instances\/[^/]+$/, kind: "status", status } as const;
      scene.service.emulator.fail({
        ...fault,
        problem: { code: undefined },
        times: Number.POSITIVE_INFINITY,
      });
      return scene;
    }

    test("is created, updated, refreshed and destroyed with lists", async () => {
      const { service, web } = await undefinedGet();
      expect([await web.up(), await web.up({ flavor: "m1.large" })]).toEqual([undefined, undefined]);
      service.emulator.edit(web.inState().id, { flavor: "m1.tiny" });
      await web.refresh();
      expect(web.inState().inputs).toMatchObject({ flavor: "m1.tiny" });
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(0);
    });

    test.runIf(status <= 403)("stays in the state if the list no longer contains the instance", async () => {
      const { service, web } = await undefinedGet();
      await web.up();
      const { id } = web.inState();
      service.emulator.remove(id);
      await expect(web.refresh()).rejects.toThrow(`(${status})`);
      expect(web.inState().id).toBe(id);
    });
  },
);

test.each([400, 403])(
  "a new instance that a rejected GET (%d) and the list don't show is not created again",
  async (status) => {
    const { service, web } = await oneInstance({ behaviour: { lagMs: 90_000, lagPart: "objects" } });
    const path = /^\/v1\/instances\/[^/]+$/;
    service.emulator.fail({ method: "GET", path, kind: "status", status, times: Number.POSITIVE_INFINITY });
    for (const _ of [1, 2]) expect(await web.up()).toContain(`(${status})`);
    await service.clock.sleep(90_000);
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
    expect(web.keys()).toBe(1);
  },
);

describe("the status 410", () => {
  test("of every GET for a single object doesn't mean a deletion if the project isn't visible either", async () => {
    const service = await startService();
    const project = await existingProject(service, { __key: randomUUID() });
    const web = await existingInstance(service, { project: project.id });
    service.emulator.remove(web.id);
    service.emulator.remove(project.id, "project");
    const path = /^\/v1\/(projects|instances)\/./;
    const times = Number.POSITIVE_INFINITY;
    service.emulator.fail({ kind: "status", status: 410, method: "GET", path, times });
    const { instances, projects } = await service.newProviders();
    expect(await errorOf(instances.read(web.id, web.state))).toContain("code forbidden");
    expect(await errorOf(projects.read(project.id, project.state))).toContain("code forbidden");
  });

  test("doesn't mean a deletion if the whole service returns it", async () => {
    const service = await startService();
    const project = await existingProject(service, { __key: randomUUID() });
    const web = await existingInstance(service);
    service.emulator.fail({ kind: "status", status: 410, times: Number.POSITIVE_INFINITY });
    const { instances, projects } = await service.newProviders();
    expect((await failureOf(projects.read(project.id, project.state))).message).toContain("(410)");
    expect((await failureOf(instances.read(web.id, web.state))).message).toContain("(410)");
    await failureOf(instances.delete(web.id, web.state));
    expect(service.emulator.instances.has(web.id)).toBe(true);
  });
});

describe("a status", () => {
  const means = (status: unknown): boolean => isDeleted({ id: "ins-1", fields: { status } });

  test.each([
    ...[
      "deleted",
      "DELETED",
      " Deleted ",
      "terminated",
      "TERMINATED",
      "Terminated",
      "destroyed",
      "removed",
      "purged",
    ],
    ...["soft-deleted", "soft_deleted", "SoftDeleted", "softdeleted", "deleted (soft)"],
    ...["INSTANCE_TERMINATED", "STATE_DELETED", "instanceDeleted", "vm.destroyed"],
  ])("%j means that the instance no longer exists", (status) => {
    expect(means(status)).toBe(true);
  });

  test.each([
    ...["running", "stopped", "error", "failed", "deleting", "TERMINATING", "shutting-down", "undeleted"],
    ...["to_be_deleted", "not deleted", "pending_deletion", "deletion_failed", "delete_protected", ""],
    ...[undefined, null, 7, { name: "deleted" }],
  ])("%j doesn't", (status) => {
    expect(means(status)).toBe(false);
  });
});

describe("an instance that the service keeps showing as deleted", () => {
  const softDeleted = (status: string) => (now: object) => ({ ...now, status });

  test.each(["deleted", "TERMINATED"])(
    "is removed from the state by a refresh while its project is visible (%s)",
    async (status) => {
      const service = await startService();
      const saved = await existingInstance(service);
      service.emulator.edit(saved.id, { status });
      expect(await service.instances.read(saved.id, saved.state)).toEqual({});
    },
  );

  test("counts as deleted even if the account shows no projects, because the service reports the deletion", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { status: "deleted" });
    for (const id of [...service.emulator.projects.keys()]) service.emulator.remove(id);
    expect(await service.instances.read(saved.id, saved.state)).toEqual({});
  });

  test("is not found by `get`", async () => {
    const service = await startService();
    const { id } = service.emulator.addInstance({ status: "Terminated" });
    const { __urn, __provider } = instanceNews();
    const { message } = await failureOf(service.instances.read(id, { __urn, __provider }));
    expect(message).toContain(`instance ${id} doesn't exist`);
  });

  test("is not updated, and the error says that it no longer exists", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { status: "DELETED" });
    const news = { ...saved.inputs, flavor: "m1.large" };
    const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(message).toContain(`instance ${saved.id} no longer exists`);
  });

  test.each(["deleted", "TERMINATED", "soft-deleted"])("confirms its deletion (%s)", async (status) => {
    const service = await startService({ behaviour: { deleteObject: 202 } });
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "DELETE", kind: "status", status: 200, problem: { id: saved.id } });
    service.emulator.behaviour.spelling = softDeleted(status);
    await service.instances.delete(saved.id, saved.state);
    expect(service.clock.now()).toBeLessThan(10_000);
  });

  test("doesn't make GET count as unsupported if a list still shows it as running", async () => {
    const fake = new FakeService();
    fake.addProject("prj-1");
    fake.addInstance("ins-1", "prj-1", { status: "deleted" });
    const call = callTo(fake, instanceKind);
    const { finder } = call.session;
    const ref = { kind: instanceKind, id: "ins-1", project: "prj-1" };
    await finder.find(ref, call);
    fake.addInstance("ins-1", "prj-1", { status: "running" });
    expect(await finder.findAgain(ref, { missing: "get" }, call)).toHaveProperty("found");
    fake.asked.length = 0;
    await finder.find(ref, call);
    expect(fake.asked).toEqual(["GET instances ins-1"]);
  });
});

describe("the reply to a creation and a later reply with other fields", () => {
  const reply = { id: "prj-1", fields: { name: "shop", description: "the shop" }, revision: "1" };
  const item = { id: "prj-1", fields: { name: "store" } };

  test("are combined if the later reply is a list item without a revision, because list items omit fields", () => {
    const fields = { name: "store", description: "the shop" };
    expect(withOmittedFields(reply, item)).toEqual({ ...reply, fields });
  });

  test.each([{ isFromOwnUrl: true }, { revision: "2" }])(
    "are not combined if a missing field may have been removed: %j",
    (more) => {
      expect(withOmittedFields(reply, { ...item, ...more }).fields).toEqual(item.fields);
    },
  );
});
