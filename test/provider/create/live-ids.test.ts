import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

const FRONT = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::front";

const deletions = ({ emulator }: { emulator: { requests: readonly { method: string }[] } }): number =>
  emulator.requests.filter(({ method }) => method === "DELETE").length;

describe("what a resource now is, is not deleted, whoever asks:", () => {
  test("an instance that this process has just made", async () => {
    const { service, web } = await oneInstance();
    const process = await web.process();
    const { inputs } = await process.check({}, web.news());
    const { id, outs } = await process.create(inputs);
    await process.delete(id, outs);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("one that was made, whatever else is to be made after it", async () => {
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
    const { id, inputs, state } = web.there();
    const process = await web.process();
    const news = (await process.check(inputs, web.news())).inputs;
    await process.diff(id, state, news);
    await process.delete(id, state);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("one to which a second row of the state leads by its operation, also after an alias", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up({ __timeouts: { create: "5s" } });
    const placeholder = web.there();
    service.emulator.finishOperations();
    await web.refresh();
    const { id, inputs, state } = web.there();
    const process = await web.process();
    const news = (await process.check(inputs, web.news({ __urn: FRONT }))).inputs;
    await process.diff(id, state, news);
    await process.delete(placeholder.id, placeholder.state);
    expect(service.emulator.instances.size).toBe(1);
    expect(deletions(service)).toBe(0);
  });

  test("one that --target-replace finds in a note instead of making another", async () => {
    const { service, web } = await oneInstance();
    await web.up({}, { unconfirmed: true });
    const { id } = web.there();
    expect(await web.up({}, { targetReplace: true })).toContain("was not replaced: it was adopted again");
    expect([...service.emulator.instances.keys()]).toEqual([id]);
    expect(deletions(service)).toBe(0);
  });
});

describe("what a resource is no more, is deleted:", () => {
  test("under `destroy`, which looks at nothing before", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    expect(await web.destroy()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("under `destroy --refresh`, where a diff comes without a check before it", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    expect(await web.destroy({ refresh: true })).toBeUndefined();
    expect(service.emulator.instances.size).toBe(0);
  });

  test("what has to be replaced for one of its arguments", async () => {
    const { web } = await oneInstance();
    await web.up();
    const { id } = web.there();
    expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: false })).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("what a diff has found to need a replacement, whatever comes before its deletion", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { id, inputs, state } = web.there();
    const process = await web.process();
    await process.diff(id, state, (await process.check(inputs, web.news({ image: "debian-14" }))).inputs);
    await process.delete(id, state);
    expect(service.emulator.instances.size).toBe(0);
  });

  test.each([true, false])(
    "what Pulumi's own options replace, though the provider would not (deleteBeforeReplace: %s)",
    async (deleteBeforeReplace) => {
      const { web } = await oneInstance();
      await web.up();
      const { id } = web.there();
      const options = { replaceOnChanges: true, deleteBeforeReplace };
      expect(await web.up({ flavor: "m1.large" }, options)).toBeUndefined();
      expect(await web.expectOne()).not.toBe(id);
    },
  );

  test("what --target-replace replaces, where nothing is noted", async () => {
    const { web } = await oneInstance();
    await web.up();
    const { id } = web.there();
    expect(await web.up({}, { targetReplace: true })).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });

  test("what an earlier run replaced and could not delete", async () => {
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
