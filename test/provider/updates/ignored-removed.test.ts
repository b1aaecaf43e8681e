import { expect, test } from "vitest";
import { SSH_KEY } from "../samples";
import { failureOf, madeInstance } from "../service";
import { startRaced } from "./raced-service";

const __ignoreChanges = ["publicIp", "sshKeys"];

async function removed(absentValues: "null" | "omitted") {
  const service = await startRaced({ behaviour: { absentValues } });
  const saved = await madeInstance(service, { publicIp: "auto", sshKeys: [SSH_KEY] });
  service.emulator.edit(saved.id, { public_ip: undefined, ssh_keys: [] });
  return { service, saved };
}

test("what ignoreChanges lists, and somebody has removed, stays removed", async () => {
  const { service, saved } = await removed("null");
  await service.instances.check(saved.inputs, { ...saved.inputs, __ignoreChanges });
  await service.updated(saved, { flavor: "m1.large" });
  expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", ssh_keys: [] });
  expect(service.fieldsOf(saved).public_ip).toBeUndefined();
});

test("what ignoreChanges lists, and somebody has removed, stays removed after a refresh if the service omits it", async () => {
  const { service, saved } = await removed("omitted");
  const { inputs, props } = await service.instances.read(saved.id, saved.state);
  expect(inputs).toMatchObject({ publicIp: "auto" }); // what isn't shown may be there
  await service.instances.check({ ...inputs }, { ...inputs, __ignoreChanges });
  const news = { ...inputs, flavor: "m1.large" };
  await service.instances.update(saved.id, { ...props }, news);
  expect(service.fieldsOf(saved).public_ip).toBeUndefined();
});

test("an update of an instance with keys that others set, shown as fingerprints, sends nothing", async () => {
  const service = await startRaced();
  const saved = await madeInstance(service);
  service.emulator.edit(saved.id, { ssh_keys: [SSH_KEY] });
  service.emulator.behaviour.spelling = (now) => ({ ...now, ssh_keys: ["SHA256:abc"] });
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(message).toContain("nothing was overwritten");
  expect(service.puts()).toEqual([]);
});
