import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

/** An instance under its own id in the state, which the service does not show before it is made. */
async function hidden({ fails = false } = {}) {
  const behaviour = { operationMs: 60_000, resultLink: "early", instanceVisible: "when-done" } as const;
  const { service, web } = await oneInstance({ behaviour });
  if (fails) service.emulator.failNextOperation({ kind: "create" });
  await web.up({ __timeouts: { create: "5s" } });
  expect(web.inState().id).toMatch(/^ins-/);
  expect(service.emulator.instances.size).toBe(0);
  return { service, web };
}

describe("an instance that the service hides until its creation ends", () => {
  test("is kept by a refresh", async () => {
    const { service, web } = await hidden();
    const before = web.inState();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: before.id, state: before.state });
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  });

  test("is deleted once it exists", async () => {
    const { service, web } = await hidden();
    expect(await web.destroy()).toBeUndefined();
    service.emulator.finishOperations();
    expect(service.emulator.instances.size).toBe(0);
    expect([...service.emulator.operations.values()].map(({ outcome }) => outcome)).toEqual(["done"]);
  });

  test("is removed by a refresh if its creation failed", async () => {
    const { service, web } = await hidden({ fails: true });
    service.emulator.finishOperations();
    await web.refresh();
    expect(web.saved).toBeUndefined();
  });

  test("is kept by a refresh if its operation can no longer be found: it may still be created", async () => {
    const { service, web } = await hidden();
    const [operation] = service.emulator.operations.keys();
    service.emulator.remove(operation ?? "");
    const { id } = web.inState();
    await web.refresh();
    expect(web.inState().id).toBe(id);
  });
});
