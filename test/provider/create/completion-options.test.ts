import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Properties } from "../../../src/model/state";
import { EngineLog } from "../../../src/provider/progress";
import { oneInstance, URN } from "../one-instance";
import { UNKNOWN_MAP, UNKNOWN_TEXT } from "../samples";

const SHORT = { __timeouts: { create: "5s" } };

/** A creation that has timed out, and that the service has finished since. */
async function cutOff(args: Properties = {}) {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  await web.up({ ...SHORT, ...args });
  const { emulator } = service;
  emulator.finishOperations();
  emulator.behaviour.operationMs = 0;
  const [id = ""] = emulator.instances.keys();
  const fieldsNow = () => emulator.instances.get(web.inState().id)?.fields;
  return { service, web, emulator, id, fieldsNow };
}

describe("a resumed creation whose option `ignoreChanges` lists the changed argument", () => {
  test.each<[string, Properties, Properties]>([
    ["image", { image: "v1" }, { image: "v2" }],
    ["flavor", { flavor: "v1" }, { flavor: "v2" }],
    ["labels.env", { labels: { env: "dev" } }, { labels: { env: "prod" } }],
  ])("adopts its object without the change: %s", async (path, before, after) => {
    const { web, emulator, id, fieldsNow } = await cutOff(before);
    const changed = { ...after, __ignoreChanges: [path] };
    expect(await web.up({ ...SHORT, ...changed })).toBeUndefined();
    expect([...emulator.instances.keys()]).toEqual([id]);
    expect(fieldsNow()).toMatchObject(before);
    expect(web.inState().state).toMatchObject(before);
    emulator.clearRequests();
    // The engine has the new value among the inputs.
    expect(await web.up({ ...SHORT, ...changed })).toBeUndefined();
    expect(emulator.requests).toEqual([]);
  });

  test("is not changed if the option is added after the service has rejected the change", async () => {
    const { web, emulator, id } = await cutOff({ flavor: "v1" });
    emulator.refuseUpdatesOf("flavor");
    expect(await web.up({ flavor: "v2" })).toContain("flavor cannot be changed in place");
    emulator.clearRequests();
    expect(await web.up({ flavor: "v2", __ignoreChanges: ["flavor"] })).toBeUndefined();
    expect(web.inState()).toMatchObject({ id, state: { flavor: "v1" } });
    expect(emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  test.each<[string, Properties, string[]]>([
    ["is kept if only a label depends on that", { labels: UNKNOWN_MAP }, []],
    ["is kept if only one of several labels depends on that", { labels: { db: UNKNOWN_TEXT } }, []],
    ["is replaced if its project depends on that", { project: UNKNOWN_TEXT }, ["project"]],
  ])("when another resource is deleted and recreated, %s", async (_, unknown, replaces) => {
    const { web, id } = await cutOff({ image: "v1" });
    await web.up({ ...SHORT, image: "v2", __ignoreChanges: ["image"] });
    const { state, inputs } = web.inState();
    expect({ was: state.image, is: inputs.image }).toEqual({ was: "v1", is: "v2" });
    // The engine compares the dependents of what it deletes before any check.
    const answer = await (await web.process()).diff(id, state, { ...inputs, ...unknown });
    expect(answer).toMatchObject({ changes: undefined, replaces });
  });

  test.each<[string, string[]]>([
    ["image", ["image"]],
    ["flavor", []],
  ])("gets the change of %s once the option is removed", async (name, replaces) => {
    const { web, id } = await cutOff({ [name]: "v1" });
    await web.up({ ...SHORT, [name]: "v2", __ignoreChanges: [name] });
    const { state, inputs: before } = web.inState();
    const process = await web.process();
    const { inputs } = await process.check(before, web.news({ ...SHORT, [name]: "v2" }));
    // The inputs are equal, so the engine would not see the change by itself.
    expect(await process.diff(id, state, inputs)).toMatchObject({ changes: true, replaces });
  });

  test("keeps an SSH key that is listed by its index, and makes the changes of other keys", async () => {
    const { web, id } = await cutOff({ sshKeys: ["ssh-rsa AAAA", "ssh-rsa BBBB"] });
    const sshKeys = ["ssh-rsa CCCC", "ssh-rsa DDDD", "ssh-rsa EEEE"];
    expect(await web.up({ ...SHORT, sshKeys, __ignoreChanges: ["sshKeys[0]"] })).toBeUndefined();
    const kept = ["ssh-rsa AAAA", "ssh-rsa DDDD", "ssh-rsa EEEE"];
    expect(web.inState()).toMatchObject({ id, state: { sshKeys: kept } });
  });

  test("makes the other changes", async () => {
    const { web, id, fieldsNow } = await cutOff({ flavor: "v1", labels: { env: "dev", team: "a" } });
    const changed = { flavor: "v2", labels: { env: "prod", team: "b" } };
    expect(await web.up({ ...SHORT, ...changed, __ignoreChanges: ["labels.env"] })).toBeUndefined();
    expect(web.inState().id).toBe(id);
    expect(fieldsNow()).toMatchObject({ flavor: "v2", labels: { env: "dev", team: "b" } });
  });
});

test.each([["labels"], ["labels.env"]])(
  "a creation sets all arguments, even if POST doesn't take them and `ignoreChanges` lists them: %s",
  async (path) => {
    const { service, web } = await oneInstance({ behaviour: { postIgnores: ["labels"] } });
    expect(await web.up({ labels: { env: "dev" }, __ignoreChanges: [path] })).toBeUndefined();
    expect(service.emulator.instances.get(web.inState().id)?.fields.labels).toEqual({ env: "dev" });
  },
);

describe("a resumed creation whose option `replaceOnChanges` lists the changed argument", () => {
  test("creates another object", async () => {
    const { web, emulator, id, fieldsNow } = await cutOff({ flavor: "v1" });
    expect(await web.up({ flavor: "v2", __replaceOnChanges: ["flavor"] })).toBeUndefined();
    expect(web.inState().id).not.toBe(id);
    expect(emulator.instances.size).toBe(1);
    expect(fieldsNow()).toMatchObject({ flavor: "v2" });
  });

  test.each([
    ["prod", "another"],
    ["dev", "the same"],
  ])("of a label, which is %s now, has %s object", async (env, which) => {
    const { web, emulator, id, fieldsNow } = await cutOff({ labels: { env: "dev" } });
    const labels = { env, team: "a" };
    expect(await web.up({ labels, __replaceOnChanges: ["labels.env"] })).toBeUndefined();
    expect(web.inState().id === id).toBe(which === "the same");
    expect(emulator.instances.size).toBe(1);
    expect(fieldsNow()).toMatchObject({ labels });
  });

  test("is replaced if the option is added after the service has rejected the change", async () => {
    const { web, emulator, id } = await cutOff({ flavor: "v1" });
    emulator.refuseUpdatesOf("flavor");
    expect(await web.up({ flavor: "v2" })).toContain("flavor cannot be changed in place");
    expect(web.inState()).toMatchObject({ id, inputs: { flavor: "v2" }, state: { flavor: "v1" } });
    const news = { ...web.inState().inputs, __replaceOnChanges: ["flavor"] };
    const process = await web.process();
    const { inputs } = await process.check(web.inState().inputs, news);
    // The inputs are equal, so the engine would not see the change by itself.
    expect(await process.diff(id, web.inState().state, inputs)).toMatchObject({
      changes: true,
      replaces: ["flavor"],
    });
  });
});

describe("a resumed creation whose object no longer matches the program", () => {
  test("keeps the object if the resource has the option `retainOnDelete`", async () => {
    const { service, web, emulator, id } = await cutOff({ image: "v1" });
    expect(await web.up({ image: "v2", __retainOnDelete: true })).toBeUndefined();
    expect([...emulator.instances.keys()]).toEqual([id, web.inState().id]);
    expect(service.warnings.join()).toMatch(new RegExp(`instance ${id}.* was not deleted`));
  });

  test.each<[string, string | undefined]>([
    ["given", "web"],
    ["generated", undefined],
  ])("keeps the object even if the next creation fails at first, with a %s name", async (_, name) => {
    const { service, web, emulator, id } = await cutOff({ image: "v1", name });
    const retained = { image: "v2", name, __retainOnDelete: true };
    emulator.fail({ method: "POST", kind: "status", status: 422 });
    expect(await web.up(retained)).toContain("422");
    expect(await web.up(retained)).toBeUndefined();
    expect([...emulator.instances.keys()]).toEqual([id, web.inState().id]);
    expect(service.warnings.join()).toMatch(new RegExp(`instance ${id}.* was not deleted`));
    expect(web.isSettled).toBe(true);
  });

  test("creates the other object under another generated name, because the first one keeps its own", async () => {
    const { web, emulator, id } = await cutOff({ image: "v1", name: undefined });
    emulator.behaviour.uniqueNames = true;
    expect(await web.up({ image: "v2", name: undefined, __retainOnDelete: true })).toBeUndefined();
    expect([...emulator.instances.keys()]).toEqual([id, web.inState().id]);
  });

  test("keeps the object even if the resource is renamed, and warns until its entry is removed", async () => {
    const { service, web, emulator, id } = await cutOff({ image: "v1" });
    const renamed = { image: "v2", __retainOnDelete: true, __urn: `${URN}-2`, __aliasUrns: [URN] };
    emulator.fail({ method: "POST", kind: "status", status: 422 });
    expect(await web.up(renamed)).toContain("422");
    expect(await web.up(renamed)).toBeUndefined();
    expect([...emulator.instances.keys()]).toContain(id);
    const said = service.warnings.length;
    expect(await web.up(renamed)).toBeUndefined();
    expect(service.warnings).toHaveLength(said);
  });

  test("is announced in the preview", async () => {
    const { web } = await cutOff({ image: "v1" });
    const { id, inputs, state } = web.inState();
    const said: string[] = [];
    const row = vi.spyOn(EngineLog.prototype, "statusLogFor");
    onTestFinished(() => row.mockRestore());
    row.mockImplementation(() => ({ write: async (message) => void said.push(message) }));
    const process = await web.process();
    await process.diff(id, state, (await process.check(inputs, web.news({ ...SHORT, image: "v2" }))).inputs);
    expect(said).toEqual(["resuming its creation; its object doesn't match the program and is replaced"]);
  });
});
