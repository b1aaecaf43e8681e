import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { existingInstance, existingProject, failureOf, startService } from "../service";

describe("the status 410", () => {
  test("means that an object was deleted if the list works and doesn't show the object", async () => {
    const service = await startService();
    const { id, state } = await existingProject(service);
    service.emulator.remove(id, "project");
    service.emulator.fail({
      path: `/v1/projects/${id}`,
      kind: "status",
      status: 410,
      times: Number.POSITIVE_INFINITY,
    });
    expect(await (await service.newProviders()).projects.read(id, state)).toEqual({});
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
