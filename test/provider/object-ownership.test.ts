import { describe, expect, test } from "vitest";
import { oneInstance } from "./one-instance";

const FRONT = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::front";

const deletions = ({ emulator }: { emulator: { requests: readonly { method: string }[] } }): number =>
  emulator.requests.filter(({ method }) => method === "DELETE").length;

describe("a live object is not deleted:", () => {
  test("an instance that this process has just created", async () => {
    const { service, web } = await oneInstance();
    const process = await web.process();
    const { inputs } = await process.check({}, web.news());
    const { id, outs } = await process.create(inputs);
    await process.delete(id, outs);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("an instance that was created before another one", async () => {
    const { service, web } = await oneInstance();
    const process = await web.process();
    const { id, outs } = await process.create((await process.check({}, web.news())).inputs);
    await process.check({}, web.news({ __urn: FRONT }));
    await process.delete(id, outs);
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  });

  test("an instance that this process has found to need no replacement", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    const news = (await process.check(inputs, web.news())).inputs;
    await process.diff(id, state, news);
    await process.delete(id, state);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("an instance that another resource of the state names by its operation, also after an alias", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up({ __timeouts: { create: "5s" } });
    const placeholder = web.inState();
    service.emulator.finishOperations();
    await web.refresh();
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    const news = (await process.check(inputs, web.news({ __urn: FRONT }))).inputs;
    await process.diff(id, state, news);
    await process.delete(placeholder.id, placeholder.state);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("an instance that another resource has imported, if a placeholder names it by its operation on another machine", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up({ __timeouts: { create: "5s" } });
    const placeholder = web.inState();
    service.emulator.finishOperations();
    const [id] = service.emulator.instances.keys();
    const process = await web.process({ onAnotherMachine: true });
    const front = await process.check({}, web.news({ __urn: FRONT, __import: id }));
    expect(await process.create(front.inputs)).toMatchObject({ id });
    await process.delete(placeholder.id, placeholder.state);
    expect([...service.emulator.instances.keys()]).toEqual([id]);
    expect(deletions(service)).toBe(0);
  });

  test("an instance that --target-replace resumes from the journal", async () => {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const { id } = web.inState();
    expect(await web.up({}, { targetReplace: true })).toContain(
      "was not replaced, because it was adopted again",
    );
    expect([...service.emulator.instances.keys()]).toEqual([id]);
    expect(deletions(service)).toBe(0);
  });
});

describe("an object that a resource no longer has is deleted:", () => {
  test("under `destroy`, which runs no checks", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("under `destroy --refresh`, which runs a diff without a check", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    expect(await web.destroy({ refresh: true })).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("if a changed argument requires a replacement", async () => {
    const { web } = await oneInstance();
    await web.up();
    const { id } = web.inState();
    expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: false })).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("if a diff requires a replacement, in any order of the next calls", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id, inputs, state } = web.inState();
    const process = await web.process();
    await process.diff(id, state, (await process.check(inputs, web.news({ image: "debian-14" }))).inputs);
    await process.delete(id, state);
    expect(service.emulator.instances.size).toBe(0);
  });

  test.each([true, false])(
    "if one of Pulumi's options requires a replacement (deleteBeforeReplace: %s)",
    async (deleteBeforeReplace) => {
      const { web } = await oneInstance();
      await web.up();
      const { id } = web.inState();
      const options = { replaceOnChanges: true, deleteBeforeReplace };
      expect(await web.up({ flavor: "m1.large" }, options)).toBeUndefined();
      expect(await web.expectOne()).not.toBe(id);
    },
  );

  test("if --target-replace replaces it and the journal has no entry", async () => {
    const { web } = await oneInstance();
    await web.up();
    const { id } = web.inState();
    expect(await web.up({}, { targetReplace: true })).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("if an earlier run replaced it and could not delete it", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const refused = service.emulator.fail({ method: "DELETE", kind: "status", status: 403, times: 99 });
    expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: false })).toContain("(403)");
    refused.off();
    expect(service.emulator.instances.size).toBe(2);
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    await web.expectOne();
  });
});

test("an instance that has the id of a deleted one is not confused with it when the engine compares the deleted one's state", async () => {
  const { service, web } = await oneInstance({ behaviour: { ids: "number", idReuse: true } });
  await web.up();
  const old = web.inState();
  const process = await web.process();
  await process.delete(old.id, old.state); // its project is replaced, and is deleted first
  const front = (await process.check({}, web.news({ __urn: FRONT, name: "front" }))).inputs;
  expect(await process.create(front)).toMatchObject({ id: old.id });
  const { inputs } = await process.check(old.inputs, web.news());
  await process.diff(old.id, old.state, inputs);
  await process.delete(old.id, old.state);
  expect(service.emulator.instances.get(old.id)?.fields).toMatchObject({ name: "front" });
});
