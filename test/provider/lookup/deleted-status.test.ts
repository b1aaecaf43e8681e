import { describe, expect, test } from "vitest";
import { instanceKind } from "../../../src/model/resource-fields";
import { isDeleted } from "../../../src/provider/lookup/object-getter";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { instanceNews } from "../samples";
import { existingInstance, failureOf, startService } from "../service";

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
    const first = await finder.find(ref, call);
    fake.addInstance("ins-1", "prj-1", { status: "running" });
    expect(await finder.findAgain(ref, first, call)).toHaveProperty("found");
    fake.asked.length = 0;
    await finder.find(ref, call);
    expect(fake.asked).toEqual(["GET instances ins-1"]);
  });
});
