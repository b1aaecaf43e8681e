import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { failureOf, madeInstance, madeProject, startService } from "../service";

describe("the status 410", () => {
  test("means that an object was deleted if the list works and doesn't show the object", async () => {
    const service = await startService();
    const { id, state } = await madeProject(service);
    service.emulator.remove(id, "project");
    service.emulator.fail({
      path: `/v1/projects/${id}`,
      kind: "status",
      status: 410,
      times: Number.POSITIVE_INFINITY,
    });
    expect(await (await service.anew()).projects.read(id, state)).toEqual({});
  });

  test("doesn't mean a deletion if the whole service returns it", async () => {
    const service = await startService();
    const project = await madeProject(service, { __key: randomUUID() });
    const web = await madeInstance(service);
    service.emulator.fail({ kind: "status", status: 410, times: Number.POSITIVE_INFINITY });
    const { instances, projects } = await service.anew();
    expect((await failureOf(projects.read(project.id, project.state))).message).toContain("(410)");
    expect((await failureOf(instances.read(web.id, web.state))).message).toContain("(410)");
    await failureOf(instances.delete(web.id, web.state));
    expect(service.emulator.instances.has(web.id)).toBe(true);
  });
});
