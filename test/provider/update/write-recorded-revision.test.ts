import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import type { Service } from "../service";

/** Changes an instance as another client does, at a service that keeps the revision. */
function editSilently({ emulator }: Service, id: string, fields: Readonly<Record<string, unknown>>): void {
  const revision = emulator.instances.get(id)?.revision;
  emulator.edit(id, fields);
  Object.assign(Object(emulator.instances.get(id)), { revision });
}

describe("a change by another client without a new revision", () => {
  test.each([
    ["labels.team", { labels: { team: "ops" } }],
    ["publicIp", { public_ip: "203.0.113.9" }],
    ["sshKeys", { ssh_keys: ["ssh-rsa THEIRS"] }],
    ["flavor", { flavor: "m1.tiny" }],
  ])("of %s isn't overwritten, and a refresh of the instance resolves the conflict", async (name, edit) => {
    const { service, web } = await oneInstance();
    const args = { labels: { team: "web" }, sshKeys: [SSH_KEY], publicIp: "203.0.113.5" };
    await web.up(args);
    const { id } = web.inState();
    editSilently(service, id, edit);
    const message = await web.up({ ...args, network: "backend" });
    expect(message).toContain(`another client changed ${name} of instance ${id}`);
    expect(message).toContain("run `pulumi refresh --target <urn>`, then `pulumi up`");
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ network: "default", ...edit });
    await web.refresh();
    expect(await web.up({ ...args, network: "backend" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({
      ...{ network: "backend", flavor: "m1.small", labels: { team: "web" }, ssh_keys: [SSH_KEY] },
      public_ip: "203.0.113.5",
    });
  });

  test("isn't overwritten if the instance has no optional properties", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    editSilently(service, web.inState().id, { flavor: "m1.tiny" });
    expect(await web.up({ network: "backend" })).toContain("another client changed flavor");
  });

  test("to the desired value doesn't prevent the update", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { team: "web" } });
    const { id } = web.inState();
    editSilently(service, id, { labels: { team: "ops" } });
    const sent = service.emulator.requests.length;
    expect(await web.up({ labels: { team: "ops" } })).toBeUndefined();
    expect(service.emulator.requests.slice(sent).map(({ method }) => method)).toEqual(["GET", "PUT", "GET"]);
    expect(web.inState().state.labels).toEqual({ team: "ops" });
  });

  test("of a value that the program manages from now on doesn't prevent the update", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { team: "web" } });
    const { id } = web.inState();
    editSilently(service, id, { labels: { team: "web", owner: "ops" } });
    expect(await web.up({ labels: { team: "web", owner: "dev" } })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.labels).toEqual({ team: "web", owner: "dev" });
  });

  test("of an unmanaged label is kept", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { team: "web" } });
    const { id } = web.inState();
    editSilently(service, id, { labels: { team: "web", owner: "ops" } });
    expect(await web.up({ labels: { team: "web" }, flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.labels).toEqual({ team: "web", owner: "ops" });
  });
});

describe("values in a different form at the recorded revision are not changes by another client:", () => {
  test("a list item of an instance that its own URL has returned", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { team: "web" } });
    service.emulator.behaviour.getObject = 405;
    service.emulator.behaviour.spelling = (instance, place) =>
      place === "item" ? { ...instance, network: "net-1" } : instance;
    expect(await web.up({ labels: { team: "web" }, flavor: "m1.large" })).toBeUndefined();
  });

  test("a list item before and after an update whose reply was lost", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { team: "web" } });
    service.emulator.behaviour.getObject = 405;
    service.emulator.behaviour.spelling = (instance, place) =>
      place === "item" ? { ...instance, flavor: String(instance.flavor).toUpperCase() } : instance;
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    expect(await web.up({ labels: { team: "web" }, flavor: "m1.large" })).toBeUndefined();
  });

  test("the reply from the instance's own URL if the state comes from a list", async () => {
    const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
    await web.up({ labels: { team: "web" } });
    service.emulator.behaviour.getObject = 200;
    service.emulator.behaviour.spelling = (instance, place) =>
      place === "object" ? { ...instance, network: "net-1" } : instance;
    expect(await web.up({ labels: { team: "web" }, flavor: "m1.large" })).toBeUndefined();
  });

  test("the reply from the instance's own URL if the state comes from the reply to an update", async () => {
    const { service, web } = await oneInstance({
      behaviour: { lagMs: 60_000, lagIn: "reads", lagPart: "fields" },
    });
    const args = { labels: { team: "web" }, flavor: "m1.large" };
    await web.up({ labels: { team: "web" } });
    await service.clock.sleep(60_000);
    expect(await web.up(args)).toBeUndefined();
    await service.clock.sleep(60_000);
    service.emulator.behaviour.spelling = (instance) => ({ ...instance, flavor: `id-of-${instance.flavor}` });
    const { state } = web.inState();
    expect(await web.up({ ...args, network: "backend" })).toBeUndefined();
    web.saved = { ...web.inState(), state };
    await web.refresh();
    expect(web.inState().inputs.flavor).toBe("m1.large");
  });
});

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
