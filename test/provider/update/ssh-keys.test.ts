import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import type { ServiceOptions } from "../service";

const THEIRS = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRoZWlycw colleague@laptop";
const PLATFORM = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHBsYXRmb3Jt platform";

async function made(sshKeys: unknown, behaviour: ServiceOptions["behaviour"] = {}) {
  const { service, web } = await oneInstance({ behaviour });
  const { emulator } = service;
  expect(await web.up({ sshKeys })).toBeUndefined();
  const { id } = web.inState();
  const puts = () => emulator.requests.filter(({ method }) => method === "PUT").length;
  const keysThere = () => emulator.instances.get(id)?.fields.ssh_keys ?? [];
  return { emulator, web, id, puts, keysThere };
}

test.each([{}, { absentValues: "null" }, { postIgnores: ["ssh_keys"] }] as const)(
  "an empty list of SSH keys requires no update after the creation or later, with %j",
  async (behaviour) => {
    const { web, puts } = await made([], behaviour);
    await web.refresh();
    expect(await web.up({ sshKeys: [] })).toBeUndefined();
    expect(puts()).toBe(0);
  },
);

test("an empty list of SSH keys that is added removes the keys that others have added", async () => {
  const { emulator, web, id, keysThere } = await made(undefined);
  emulator.edit(id, { ssh_keys: [THEIRS] });
  await web.refresh();
  expect(await web.up({ sshKeys: [] })).toBeUndefined();
  expect(keysThere()).toEqual([]);
  expect(await web.up({ sshKeys: [] })).toBeUndefined();
});

test.each([
  {},
  { revision: "header" },
  { getObject: 405 },
  { putReply: 202 },
  { unshown: ["ssh_keys"] },
  { normalize: ["bare-keys"] },
] as const)(
  "an empty list of SSH keys that is added removes them even if another property has changed since, with %j",
  async (behaviour) => {
    const { emulator, web, id, keysThere } = await made(undefined, behaviour);
    emulator.edit(id, { ssh_keys: [THEIRS] });
    await web.refresh();
    emulator.edit(id, { labels: { owner: "ops" } });
    expect(await web.up({ sshKeys: [] })).toBeUndefined();
    expect(keysThere()).toEqual([]);
  },
);

test("an empty list of SSH keys is sent even if somebody else has made the other part of the change", async () => {
  const { emulator, web, id, keysThere } = await made(undefined);
  emulator.edit(id, { ssh_keys: [THEIRS] });
  await web.refresh();
  emulator.edit(id, { flavor: "m1.large" });
  expect(await web.up({ sshKeys: [], flavor: "m1.large" })).toBeUndefined();
  expect(keysThere()).toEqual([]);
});

test("an empty list of SSH keys that the service ignores is an error", async () => {
  const { emulator, web, id } = await made(undefined);
  emulator.edit(id, { ssh_keys: [THEIRS] });
  await web.refresh();
  emulator.ignoreUpdatesOf("ssh_keys");
  expect(await web.up({ sshKeys: [] })).toContain("did not change sshKeys");
});

test("a key that an update removes is an error if the service keeps it, although it removes another key", async () => {
  const { emulator, web } = await made([SSH_KEY, THEIRS, PLATFORM]);
  emulator.behaviour.spelling = (now) => ({ ...now, ssh_keys: [...[now.ssh_keys ?? []].flat(), PLATFORM] });
  expect(await web.up({ sshKeys: [SSH_KEY] })).toContain("did not change sshKeys");
});

test("once an empty list of SSH keys is removed from the program, keys that others add are kept", async () => {
  const { emulator, web, id, puts, keysThere } = await made([]);
  expect(await web.up({ sshKeys: undefined })).toBeUndefined();
  expect(puts()).toBe(0);
  emulator.edit(id, { ssh_keys: [THEIRS] });
  expect(await web.up({ sshKeys: undefined, flavor: "m1.large" })).toBeUndefined();
  await web.refresh();
  expect(await web.up({ sshKeys: undefined, flavor: "m1.large" })).toBeUndefined();
  expect(keysThere()).toEqual([THEIRS]);
});

test("if an empty list of SSH keys is removed after others have added a key, the key stays", async () => {
  const { emulator, web, id, keysThere } = await made([]);
  emulator.edit(id, { ssh_keys: [THEIRS] });
  expect(await web.up({ sshKeys: undefined, flavor: "m1.large" })).toBeUndefined();
  expect(keysThere()).toEqual([THEIRS]);
});

test("the program's keys are removed if it sets an empty list or no list", async () => {
  for (const sshKeys of [[], undefined]) {
    const { web, keysThere } = await made([SSH_KEY]);
    expect(await web.up({ sshKeys })).toBeUndefined();
    expect(keysThere()).toEqual([]);
    expect(await web.up({ sshKeys })).toBeUndefined();
  }
});

/** Shows SSH keys as objects that contain the key. */
const spelling = (now: Readonly<Record<string, unknown>>): object => ({
  ...now,
  ssh_keys: [now.ssh_keys ?? []].flat().map((key, at) => ({ id: at + 1, name: "laptop", public_key: key })),
});

describe.each([200, 202, 204] as const)("at a service that shows SSH keys as objects, PUT %d", (putReply) => {
  test("keys that an update adds are not drift, even if its reply is lost", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 8 });
    expect(await web.up({ sshKeys: [SSH_KEY] })).toContain("The service may have applied the update");
    expect(await web.up({ sshKeys: [SSH_KEY] })).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs.sshKeys).toEqual([SSH_KEY]);
  });

  test("an update keeps keys that the program doesn't manage", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up()).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { ssh_keys: [SSH_KEY] });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.ssh_keys).toEqual([SSH_KEY]);
  });
});
