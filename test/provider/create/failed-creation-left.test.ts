import { expect, test } from "vitest";
import { InitializationError } from "../../../src/provider/host";
import { oneInstance } from "../one-instance";
import { existingInstance, existingProject, failureOf, startService } from "../service";

test.each([200, 404, 405] as const)(
  "the object of a failed creation is in the state, even if only lists show it (GET returns %d)",
  async (getObject) => {
    const { service, web } = await oneInstance({ behaviour: { getObject } });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    expect(await web.up()).toContain('ended with status "failed"');
    const [id] = service.emulator.instances.keys();
    expect(web.saved?.id).toBe(id);
  },
);

test.each(["instance", "project"] as const)(
  "%s that a failed creation has left is in the state even if replies lag behind",
  async (kind) => {
    const behaviour = { operationMs: 100, projectPost: 202, lagMs: 2_000, lagIn: "both" } as const;
    const service = await startService({ behaviour });
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    const made = kind === "project" ? existingProject(service) : existingInstance(service);
    const error = await failureOf(made);
    if (!(error instanceof InitializationError)) throw error;
    const { instances, projects } = await service.newProviders();
    const provider = kind === "project" ? projects : instances;
    expect(await provider.read(error.id, error.properties)).toMatchObject({ id: error.id });
    expect(service.emulator[`${kind}s`].has(error.id)).toBe(true);
  },
);

test("a creation that an error hook repeats gets another key after each definite failure", async () => {
  const { service, web } = await oneInstance();
  service.emulator.failNextOperation({ kind: "create" });
  service.emulator.fail({
    method: "POST",
    kind: "status",
    status: 403,
    when: () => web.keys() === 2,
    times: 1,
  });
  const process = await web.process();
  const { inputs } = await process.check({}, web.news());
  for (const failure of ["capacity_exhausted", "(403)"])
    expect((await failureOf(process.create(inputs))).message).toContain(failure);
  await process.create(inputs);
  expect(service.emulator.instances.size).toBe(1);
  expect(web.keys()).toBe(3);
});
