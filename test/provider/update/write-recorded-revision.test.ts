import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";

describe("an update doesn't remove unmanaged values that only this reply omits, at the revision in the state:", () => {
  test.each([
    ["labels", { owner: "ops" }, {}],
    ["labels", { team: "web", owner: "ops" }, { labels: { team: "web" } }],
    ["ssh_keys", [SSH_KEY], {}],
    ["public_ip", "auto", {}],
  ])("%s: %j", async (field, value, args) => {
    const { service, web } = await oneInstance();
    const { emulator } = service;
    await web.up(args);
    const { id } = web.inState();
    emulator.edit(id, { [field]: value });
    await web.refresh();
    // The token of this run may no longer read the field.
    emulator.behaviour.unshown = [field];
    expect(await web.up({ ...args, flavor: "m1.large" })).toContain("would remove unmanaged values");
    expect(emulator.instances.get(id)?.fields).toMatchObject({ flavor: "m1.small", [field]: value });
    emulator.behaviour.unshown = [];
    expect(await web.up({ ...args, flavor: "m1.large" })).toBeUndefined();
    expect(emulator.instances.get(id)?.fields).toMatchObject({ flavor: "m1.large", [field]: value });
  });

  test("a new revision and a refresh prove that the values no longer exist", async () => {
    const { service, web } = await oneInstance();
    const { emulator } = service;
    await web.up();
    const { id } = web.inState();
    emulator.edit(id, { labels: { owner: "ops" } });
    await web.refresh();
    emulator.behaviour.unshown = ["labels"];
    emulator.touch(id);
    await web.refresh();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  });
});
