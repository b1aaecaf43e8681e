import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import { changed, existingInstance, failureOf, startService } from "../service";

const OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther grace@example.org";

test("an update that was not applied is saved with the provider text, which delete and refresh need", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  service.emulator.ignoreUpdatesOf("flavor");
  const error = await failureOf(
    service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
  );
  expect(error).toHaveProperty("properties.__provider", saved.inputs.__provider);
});

test("an argument that the service accepted and shows as null counts as not applied", async () => {
  const service = await startService({ behaviour: { extraFields: { public_ip: null } } });
  const saved = await existingInstance(service);
  service.emulator.ignoreUpdatesOf("public_ip");
  const error = await failureOf(
    service.instances.update(saved.id, saved.state, changed(saved, { publicIp: "auto" })),
  );
  expect(error.message).toContain("did not change publicIp");
});

test("somebody else's change right after an update is drift, not a normalized value", async () => {
  const late = { edit: () => {} };
  const service = await startService({ onRequest: ({ method }) => method === "PUT" && late.edit() });
  const saved = await existingInstance(service);
  late.edit = () => service.emulator.edit(saved.id, { network: "backend" });
  const { outs } = await service.instances.update(
    saved.id,
    saved.state,
    changed(saved, { flavor: "m1.large" }),
  );
  const { inputs } = await service.instances.read(saved.id, outs);
  expect(inputs).toMatchObject({ network: "backend" });
});

test("an update without its own changes neither adopts nor later overwrites somebody else's change", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  service.emulator.edit(saved.id, { network: "backend" });
  const { outs } = await service.instances.update(saved.id, saved.state, saved.inputs);
  await failureOf(service.instances.update(saved.id, outs, changed(saved, { flavor: "m1.large" })));
  expect(service.emulator.instances.get(saved.id)?.fields.network).toBe("backend");
});

describe("an update that the service applies only in part is an error", () => {
  type Fields = Readonly<Record<string, unknown>>;
  const keysOf = ({ ssh_keys }: Fields): unknown[] => (Array.isArray(ssh_keys) ? ssh_keys : []);
  const publicIp = "198.51.100.9";

  test.each<[string, (now: Fields) => Fields, Properties, Properties]>([
    [
      "it keeps one of two SSH keys",
      (now) => ({ ssh_keys: keysOf(now).slice(0, 1) }),
      {},
      { sshKeys: [SSH_KEY, OTHER_KEY] },
    ],
    [
      "it keeps the SSH key that is removed",
      (now) => ({ ssh_keys: [SSH_KEY, ...keysOf(now)] }),
      { sshKeys: [SSH_KEY] },
      { sshKeys: [OTHER_KEY] },
    ],
    [
      "it assigns another address",
      (now) => (now.public_ip === undefined ? {} : { public_ip: "203.0.113.7" }),
      {},
      { publicIp },
    ],
  ])("%s", async (_what, shown, before, args) => {
    const { web } = await oneInstance({ behaviour: { spelling: (now) => ({ ...now, ...shown(now) }) } });
    expect(await web.up(before)).toBeUndefined();
    const [name = ""] = Object.keys(args);
    expect(await web.up(args)).toContain(`did not change ${name}`);
    expect(web.inState().state[name]).toEqual(before[name]);
    expect(await web.up(args)).toContain(name);
  });

  test("except if the service adds SSH keys of the account", async () => {
    const account = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAccount account";
    const spelling = (now: Fields) => ({ ...now, ssh_keys: [...keysOf(now), account] });
    const { web } = await oneInstance({ behaviour: { spelling } });
    for (const sshKeys of [[SSH_KEY], [OTHER_KEY], [SSH_KEY, OTHER_KEY], []]) {
      expect(await web.up({ sshKeys })).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.sshKeys).toEqual(sshKeys);
    }
  });

  test("except if the service shows an IPv6 address in another form", async () => {
    const spelling = (now: Fields) => ({ ...now, ...(now.public_ip ? { public_ip: "2001:db8::7" } : {}) });
    const { web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up()).toBeUndefined();
    expect(await web.up({ publicIp: "2001:DB8:0:0:0:0:0:7" })).toBeUndefined();
  });
});

test("an argument that is set for the first time and not applied is not in the state, and the next update resends it", async () => {
  const service = await startService({ behaviour: { extraFields: { public_ip: null } } });
  const saved = await existingInstance(service);
  service.emulator.ignoreUpdatesOf("public_ip");
  let { state } = saved;
  for (const _ of ["first", "again"]) {
    const error = await failureOf(
      service.instances.update(saved.id, state, changed(saved, { publicIp: "auto" })),
    );
    expect(error.message).toContain("did not change publicIp");
    state = { ...Object(Object(error).properties) };
    expect("publicIp" in state).toBe(false);
  }
});
