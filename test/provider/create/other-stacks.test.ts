import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { OneInstance } from "../one-instance";
import { changed, existingInstance, existingProject, failureOf, startService } from "../service";

// Pulumi Cloud has one URL for all organizations, and two of them may have the same project and stack.

test("destroying a project ignores the interrupted creation of another organization's stack", async () => {
  const service = await startService();
  const { id, state } = await existingProject(service, { __organization: "acme" });
  await new OneInstance(service).killedUp({ __organization: "beta" });
  const destroy = await service.newProviders();
  const { message } = await failureOf(destroy.projects.delete(id, state));
  expect(message).toContain("still holds instances");
  expect(service.emulator.instances.size).toBe(1);
});

test("destroying a project settles the interrupted creation of its own stack", async () => {
  const service = await startService();
  const project = await existingProject(service, { __organization: "acme" });
  await new OneInstance(service, project).killedUp({ __organization: "acme" });
  await (await service.newProviders()).projects.delete(project.id, project.state);
  expect(service.emulator.instances.size).toBe(0);
});

describe("the organization of a stack", () => {
  /** The next `up`: what diff answers, and the inputs that the engine then saves. */
  async function next(
    { instances }: { instances: HostProvider },
    saved: { id: string; inputs: Properties; state: Properties },
    news: Properties,
  ) {
    const { inputs } = await instances.check(saved.inputs, news);
    return { inputs, difference: await instances.diff(saved.id, saved.state, inputs) };
  }

  test.each([
    ["for a state that was written without it", {}, "acme"],
    ["when the stack moves to another organization", { __organization: "acme" }, "beta"],
    ["when the stack moves to a backend without organizations", { __organization: "acme" }, undefined],
  ])("causes no diff %s, and is then recorded", async (_, before, __organization) => {
    const service = await startService();
    const saved = await existingInstance(service, before);
    const { inputs, difference } = await next(
      await service.newProviders(),
      saved,
      changed(saved, { __organization }),
    );
    expect(difference.changes).toBe(false);
    expect(inputs.__organization).toBe(__organization);
  });

  test("is not shown in a diff of another change, but is in the outputs after it", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { __organization: "acme" });
    const process = await service.newProviders();
    const news = changed(saved, { __organization: "beta", flavor: "m1.large" });
    const { inputs } = await next(process, saved, news);
    expect(inputs.__organization).toBe("acme");
    const { outs } = await process.instances.update(saved.id, saved.state, inputs);
    expect(outs.__now).toMatchObject({ __organization: "beta" });
  });
});
