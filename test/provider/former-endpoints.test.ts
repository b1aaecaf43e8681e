import { describe, expect, test } from "vitest";
import { oneInstance } from "./one-instance";
import { UNKNOWN_TEXT } from "./samples";
import { changed, existingInstance, existingProject, failureOf, startService } from "./service";

const elsewhere = "https://old.example.com/v1";

describe("an object that the state records at another endpoint", () => {
  test.each(["read", "update", "delete"] as const)("is not read, changed or deleted: %s", async (action) => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.clearRequests();
    const state = { ...saved.state, __endpoint: elsewhere };
    const { instances } = service;
    const { message } = await failureOf(
      action === "update"
        ? instances.update(saved.id, state, changed(saved, { flavor: "m1.large" }))
        : instances[action](saved.id, state),
    );
    expect(message).toContain(`the state records instance ${saved.id} at ${elsewhere}`);
    expect(message).toContain(`cloudinfra:endpoint is ${service.emulator.endpoint}`);
    expect(message).toContain("cloudinfra:formerEndpoints");
    expect(service.emulator.requests).toEqual([]);
  });

  test("is an error even for an unchanged resource, which no service would otherwise be asked about", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    const { instances } = await service.newProviders({ endpoint: "https://new.example.com/v1" });
    const { id, inputs, state } = web.inState();
    const checked = await instances.check(inputs, web.news());
    const { message } = await failureOf(instances.diff(id, state, checked.inputs));
    expect(message).toContain(`the state records instance ${id} at ${service.emulator.endpoint}`);
  });

  test("is not read, changed or deleted if it is a project", async () => {
    const service = await startService();
    const saved = await existingProject(service);
    await failureOf(service.projects.delete(saved.id, { ...saved.state, __endpoint: elsewhere }));
    expect(service.emulator.projects.has(saved.id)).toBe(true);
  });
});

describe("the same endpoint", () => {
  test.each([
    ["with a slash", (url: string) => `${url}/v1/`],
    ["without the version", (url: string) => url],
    ["in capitals", (url: string) => `${url.toUpperCase()}/V1`],
  ])("may be written as %s", async (_how, spell) => {
    const service = await startService();
    const saved = await existingInstance(service);
    const state = { ...saved.state, __endpoint: spell(service.emulator.url) };
    expect(await service.instances.read(saved.id, state)).toHaveProperty("id", saved.id);
  });

  test("is assumed for an older state that records no endpoint", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    const { __endpoint, ...older } = saved.state;
    expect(__endpoint).toBe(service.emulator.endpoint);
    expect(await service.instances.read(saved.id, older)).toHaveProperty("id", saved.id);
  });
});

describe("formerEndpoints", () => {
  test("count as the configured endpoint, which is recorded from then on", async () => {
    const service = await startService({
      config: { formerEndpoints: "https://older.example.com, https://old.example.com/" },
    });
    const saved = await existingInstance(service);
    const { props } = await service.instances.read(saved.id, { ...saved.state, __endpoint: elsewhere });
    expect(props).toHaveProperty("__endpoint", service.emulator.endpoint);
  });
});

test.each(["creation", "replacement"])(
  "a preview with a former endpoint shows an unfinished %s, and doesn't change its journal entry",
  async (unfinished) => {
    const { service, web } = await oneInstance();
    if (unfinished === "replacement") await web.up();
    const olds = web.saved;
    await web.killedUp({ image: "debian-14" }, { deleteBeforeReplace: false });
    const entry = await web.entry();
    const { instances } = await service.newProviders({
      endpoint: "https://new.example.com/v1",
      formerEndpoints: service.emulator.endpoint,
    });
    const unknown = web.news({ __key: UNKNOWN_TEXT, __keyAt: UNKNOWN_TEXT });
    const { failures, inputs } = await instances.check(olds?.inputs ?? {}, unknown);
    expect(failures).toEqual([]);
    if (olds === undefined) expect(inputs.__key).toBe(entry?.key);
    else expect(await instances.diff(olds.id, olds.state, inputs)).toMatchObject({ changes: true });
    expect(await web.entry()).toEqual(entry);
    service.emulator.finishOperations();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  },
);
