import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import { existingInstance, failureOf } from "../service";
import { startRaced } from "./raced-service";

const __ignoreChanges = ["publicIp", "sshKeys"];

async function removed(absentValues: "null" | "omitted") {
  const service = await startRaced({ behaviour: { absentValues } });
  const saved = await existingInstance(service, { publicIp: "auto", sshKeys: [SSH_KEY] });
  service.emulator.edit(saved.id, { public_ip: undefined, ssh_keys: [] });
  return { service, saved };
}

test("a property in ignoreChanges that somebody has removed stays removed", async () => {
  const { service, saved } = await removed("null");
  await service.instances.check(saved.inputs, { ...saved.inputs, __ignoreChanges });
  await service.updated(saved, { flavor: "m1.large" });
  expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", ssh_keys: [] });
  expect(service.fieldsOf(saved).public_ip).toBeUndefined();
});

test("a property in ignoreChanges that somebody has removed stays removed after a refresh if the service omits it", async () => {
  const { service, saved } = await removed("omitted");
  const { inputs, props } = await service.instances.read(saved.id, saved.state);
  await service.instances.check({ ...inputs }, { ...inputs, __ignoreChanges });
  const news = { ...inputs, flavor: "m1.large" };
  await service.instances.update(saved.id, { ...props }, news);
  expect(service.fieldsOf(saved).public_ip).toBeUndefined();
});

describe("a property in ignoreChanges that the service accepts without showing it", () => {
  const ignored = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "web" } };
  const __ignoreChanges = Object.keys(ignored);
  const hidden = { public_ip: "auto", ssh_keys: [SSH_KEY], labels: { team: "web" } };
  const spelling = (now: object) => ({
    ...now,
    public_ip: undefined,
    ssh_keys: undefined,
    labels: undefined,
  });

  test.each([__ignoreChanges, ["publicIp", "sshKeys", "labels.team"]])(
    "is kept if another property changes, even after a refresh: %s, %s, %s",
    async (...paths) => {
      const service = await startRaced({ behaviour: { spelling } });
      const saved = await existingInstance(service, ignored);
      service.emulator.edit(saved.id, { status: "stopped" });
      const { inputs, props } = await service.instances.read(saved.id, saved.state);
      const news = { ...inputs, flavor: "m1.large" };
      await service.instances.check({ ...inputs }, { ...news, __ignoreChanges: paths });
      await service.instances.update(saved.id, { ...props }, news);
      expect(service.fieldsOf(saved)).toMatchObject({ ...hidden, flavor: "m1.large" });
    },
  );

  test("is kept if the instance is adopted", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    const found = { project: web.project, image: "debian-13", flavor: "m1.small", network: "default" };
    const { id } = service.emulator.addInstance({ ...found, name: "web", ...hidden });
    await web.up({ ...ignored, __import: id, flavor: "m1.large", __ignoreChanges });
    expect(service.emulator.instances.get(id)?.fields).toMatchObject({ ...hidden, flavor: "m1.large" });
  });
});

test("an ignored address that only its own field shows is kept if somebody has changed it", async () => {
  const service = await startRaced({ behaviour: { unshown: ["public_ip"] } });
  const saved = await existingInstance(service, { publicIp: "203.0.113.77" });
  service.emulator.edit(saved.id, { public_ip: "203.0.113.88" });
  await service.instances.check(saved.inputs, { ...saved.inputs, __ignoreChanges });
  await service.updated(saved, { flavor: "m1.large" });
  expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", public_ip: "203.0.113.88" });
});

test("an update of an instance with keys that others set, shown as fingerprints, sends nothing", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service);
  service.emulator.edit(saved.id, { ssh_keys: [SSH_KEY] });
  service.emulator.behaviour.spelling = (now) => ({ ...now, ssh_keys: ["SHA256:abc"] });
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(message).toContain("Nothing was overwritten");
  expect(service.puts()).toEqual([]);
});

test("a label in ignoreChanges becomes unmanaged if the program no longer sets any labels", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { labels: { tier: "gold", team: "web" } });
  const { labels: _, ...news } = saved.inputs;
  await service.instances.check(saved.inputs, { ...news, __ignoreChanges: ["labels.tier"] });
  const { outs } = await service.instances.update(saved.id, saved.state, news);
  expect(service.fieldsOf(saved)).toMatchObject({ labels: { tier: "gold" } });
  expect(outs).not.toHaveProperty("labels");
  const { inputs } = await service.instances.read(saved.id, { ...outs });
  expect(inputs).not.toHaveProperty("labels");
});
