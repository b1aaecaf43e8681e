import { describe, expect, test } from "vitest";
import type { Properties } from "../../src/model/state";
import { instanceNews, OTHER_KEY, SSH_KEY } from "./samples";
import { existingInstance, startService } from "./service";

const everything = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "web" } };
const omitting = (now: Readonly<Properties>): Properties => ({
  ...now,
  public_ip: undefined,
  ip_address: undefined,
  ssh_keys: undefined,
  labels: undefined,
});

test("a property that somebody has removed and the service then omits is drift, and its address is removed", async () => {
  const service = await startService();
  const { id, state } = await existingInstance(service, everything);
  service.emulator.edit(id, { public_ip: undefined });
  const { props, inputs } = await service.instances.read(id, state);
  expect(inputs).not.toHaveProperty("publicIp");
  expect(props).not.toHaveProperty("ipAddress");
  expect(inputs).toMatchObject({ sshKeys: [SSH_KEY], labels: { team: "web" } });
});

describe("an address that somebody has removed, at a service that shows null for missing addresses,", () => {
  test.each(["203.0.113.200", "auto"])(
    "is removed from the state, and the next `up` assigns it again if it is pinned: %s",
    async (publicIp) => {
      const service = await startService({ behaviour: { publicIpShows: "null" } });
      const { id, state } = await existingInstance(service, { publicIp });
      expect(state).toHaveProperty("ipAddress");
      service.emulator.edit(id, { public_ip: undefined });
      const { instances } = await service.newProviders();
      const { props, inputs } = await instances.read(id, state);
      expect(props).not.toHaveProperty("ipAddress");
      expect(inputs?.publicIp).toBe(publicIp === "auto" ? "auto" : undefined);
      if (publicIp === "auto") return;
      await instances.update(id, { ...props }, instanceNews({ project: state.project, publicIp }));
      expect(service.emulator.instances.get(id)?.fields.public_ip).toBe(publicIp);
    },
  );
});

describe("a pinned address that only the address field shows", () => {
  const pinned = async () => {
    const service = await startService({ behaviour: { unshown: ["public_ip"] } });
    return { service, ...(await existingInstance(service, { publicIp: "203.0.113.77" })) };
  };

  test.each(["203.0.113.5", undefined])("is drift once somebody has changed it to %s", async (public_ip) => {
    const { service, id, state } = await pinned();
    service.emulator.edit(id, { public_ip });
    const { props, inputs } = await (await service.newProviders()).instances.read(id, state);
    expect(props?.ipAddress).toBe(public_ip);
    expect(inputs?.publicIp).toBe(public_ip);
  });

  test("isn't drift if another field shows it beside the instance's main address", async () => {
    const { service, id, state } = await pinned();
    const beside = { ip_address: "203.0.113.5", floating_ip: "203.0.113.77" };
    service.emulator.behaviour.spelling = (now) => ({ ...now, ...beside });
    service.emulator.touch(id);
    const { instances } = await service.newProviders();
    expect((await instances.read(id, state)).inputs).toMatchObject({ publicIp: "203.0.113.77" });
  });

  test("isn't drift while it is assigned, or if that field shows a private address instead", async () => {
    const { service, id, state } = await pinned();
    const { instances } = await service.newProviders();
    expect((await instances.read(id, state)).inputs).toMatchObject({ publicIp: "203.0.113.77" });
    service.emulator.behaviour.spelling = (now) => ({ ...now, ip_address: "10.0.0.5" });
    expect((await instances.read(id, state)).inputs).toMatchObject({ publicIp: "203.0.113.77" });
  });
});

test("SSH keys and labels that the service omits after somebody has changed the instance are drift", async () => {
  const service = await startService();
  const { id, state } = await existingInstance(service, everything);
  service.emulator.behaviour.spelling = omitting;
  service.emulator.touch(id);
  const { inputs } = await service.instances.read(id, state);
  expect(inputs).toMatchObject({ sshKeys: [], labels: {} });
});

test("a property that somebody has removed from a looked-up instance is removed by the next refresh", async () => {
  const service = await startService();
  const { id } = await existingInstance(service, everything);
  const lookUp = async (state: Properties) => {
    const found = await (await service.newProviders()).instances.read(id, state);
    return "props" in found ? found.props : {};
  };
  const first = await lookUp({});
  expect(first).toMatchObject({ publicIp: "auto", ipAddress: expect.any(String) });
  service.emulator.edit(id, { public_ip: undefined });
  const second = await lookUp(first);
  expect([second.publicIp, second.ipAddress]).toEqual([undefined, undefined]);
});

describe("a property that the service omits is unknown, not removed,", () => {
  test("if the service has never shown it", async () => {
    const service = await startService({ behaviour: { spelling: omitting } });
    const { id, state } = await existingInstance(service, everything);
    service.emulator.touch(id);
    expect((await service.instances.read(id, state)).inputs).toMatchObject(everything);
  });

  test("if the instance has not changed, since the token may have fewer permissions", async () => {
    const service = await startService();
    const { id, state } = await existingInstance(service, everything);
    service.emulator.behaviour.spelling = omitting;
    expect((await service.instances.read(id, state)).inputs).toMatchObject(everything);
  });

  test("if only its list shows the instance", async () => {
    const service = await startService();
    const { id, state } = await existingInstance(service, everything);
    Object.assign(service.emulator.behaviour, { getObject: 405, spelling: omitting });
    service.emulator.touch(id);
    const { instances } = await service.newProviders();
    expect((await instances.read(id, state)).inputs).toMatchObject(everything);
  });

  test("if an older version wrote the state, which doesn't record the shown properties", async () => {
    const service = await startService();
    const { id, state } = await existingInstance(service, everything);
    const { __shown, ...older } = state;
    const refreshed = await service.instances.read(id, older);
    expect(refreshed.props).not.toHaveProperty("__shown"); // a refresh without a change changes nothing
    service.emulator.behaviour.spelling = omitting;
    service.emulator.touch(id);
    expect((await service.instances.read(id, older)).inputs).toMatchObject(everything);
  });
});

describe("a property that somebody has removed is drift even if a lagging list still shows it", () => {
  /** Omits empty values from the replies to GET requests of single instances. */
  const spelling = (instance: Readonly<Properties>, place: string): object =>
    place === "item"
      ? instance
      : Object.fromEntries(
          Object.entries(instance).filter(([, value]) => Object.keys(Object(value ?? {})).length > 0),
        );

  test.each([
    ["publicIp", "203.0.113.5", { public_ip: null }],
    ["sshKeys", [SSH_KEY], { ssh_keys: [] }],
    ["labels", { team: "web" }, { labels: {} }],
  ])("%s", async (name, value, removed) => {
    const service = await startService({ behaviour: { spelling } });
    const { emulator, clock } = service;
    const pass = (ms: number) => clock.sleep(ms, new AbortController().signal);
    const others = { name: "db", __urn: `${instanceNews().__urn}-2`, __key: OTHER_KEY };
    const first = await existingInstance(service, { [name]: value });
    const second = await existingInstance(service, others);
    const { instances: alone } = await service.newProviders();
    const { props: before = {} } = await alone.read(first.id, first.state);
    Object.assign(emulator.behaviour, { lagMs: 20_000, lagIn: "lists", lagPart: "fields" });
    emulator.edit(first.id, { flavor: "m1.large" });
    await pass(30_000);
    emulator.edit(first.id, removed); // the list doesn't contain this change yet
    const { instances } = await service.newProviders();
    const [{ inputs } = {}] = await Promise.all([
      instances.read(first.id, before),
      instances.read(second.id, second.state),
    ]);
    expect(inputs).toMatchObject({ flavor: "m1.large" });
    expect(inputs?.[name] ?? {}).not.toEqual(value);
  });
});
