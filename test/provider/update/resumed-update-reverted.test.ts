import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import type { Service } from "../service";

const SHORT = { __timeouts: { update: "10s" } };
const LARGE = { ...SHORT, flavor: "m1.large" };
const OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther";

const there = ({ emulator }: Service) => [...emulator.instances.values()][0]?.fields ?? {};

/** An instance whose update is accepted with an operation that takes longer than the update may. */
async function slowUpdate(before: object, news: object, { fails = false, ...behaviour }: Case = {}) {
  const { service, web } = await oneInstance({ behaviour: { putReply: 202, ...behaviour } });
  await web.up({ ...SHORT, ...before });
  const { emulator } = service;
  emulator.behaviour.operationMs = 3_600_000;
  if (fails) emulator.failNextOperation({ kind: "update" });
  expect(await web.up({ ...SHORT, ...news })).toContain("timed out after");
  const end = () => {
    emulator.finishOperations();
    emulator.behaviour.operationMs = 1_000;
  };
  return { service, web, end };
}

interface Case extends Partial<Behaviour> {
  readonly fails?: boolean;
}

describe("an update whose operation succeeds after a timeout, and that the program has reverted,", () => {
  async function reverted(before: object, news: object, behaviour: Partial<Behaviour> = {}) {
    const { service, web, end } = await slowUpdate(before, news, behaviour);
    end();
    const said = await web.up({ ...SHORT, ...before });
    return { service, web, said };
  }

  test("doesn't remove an address permanently", async () => {
    const { service, web, said } = await reverted({ publicIp: "auto" }, {});
    expect(said).toBeUndefined();
    expect(there(service).public_ip).toBe("auto");
    await web.expectOne();
  });

  test("leaves no hidden SSH key behind", async () => {
    const keys = { sshKeys: [SSH_KEY, OTHER_KEY] };
    const { service, web, said } = await reverted({ sshKeys: [SSH_KEY] }, keys, { unshown: ["ssh_keys"] });
    expect(said).toBeUndefined();
    expect(there(service).ssh_keys).toEqual([SSH_KEY]);
    await web.expectOne();
  });

  test("is a conflict if the service shows ids, which may be somebody else's change", async () => {
    const { service, web, said } = await reverted({}, { flavor: "m1.large" }, { normalize: ["ids"] });
    expect(said).toContain("another client changed flavor");
    await web.refresh();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).flavor).toBe("m1.small");
  });
});

describe("an update that the service shows before its operation ends", () => {
  async function shownEarly({
    theirs = {},
    ...options
  }: Case & { readonly theirs?: Readonly<Record<string, unknown>> } = {}) {
    const { service, web, end } = await slowUpdate({}, LARGE, options);
    service.emulator.edit(web.inState().id, theirs);
    service.emulator.behaviour.spelling = (now) => ({ ...now, flavor: "m1.large" });
    await web.refresh();
    service.emulator.behaviour.spelling = undefined;
    end();
    return { service, web };
  }

  test("isn't recorded as applied if its operation fails after a refresh", async () => {
    const { service, web } = await shownEarly({ fails: true });
    expect(web.inState()).toMatchObject({ inputs: { flavor: "m1.small" }, state: { flavor: "m1.small" } });
    expect(await web.up(LARGE)).toBeUndefined();
    expect(there(service).flavor).toBe("m1.large");
    await web.expectOne();
  });

  test("doesn't hide other changes from a refresh", async () => {
    const { web } = await shownEarly({ theirs: { network: "theirs" } });
    expect(web.inState().inputs).toMatchObject({ flavor: "m1.small", network: "theirs" });
  });
});

test.each([{}, { getObject: 405 }] as const)(
  "a reverted program reverts what a failed operation has changed: %j",
  async (behaviour) => {
    let applied = (): void => {};
    const { service, web } = await oneInstance({
      behaviour: { ...behaviour, putReply: 202 },
      onRequest: ({ path }) => path.startsWith("/v1/operations/") && applied(),
    });
    const { emulator } = service;
    await web.up();
    emulator.failNextOperation({ kind: "update" });
    // The operation changes the flavor, and fails in a later step.
    applied = () => {
      applied = () => {};
      emulator.edit(web.inState().id, { flavor: "m1.large" });
    };
    const said = await web.up({ flavor: "m1.large" });
    expect(said).toContain("code operation_failed");
    expect(said).toContain("Fix the reported problem");
    expect(await web.up()).toBeUndefined();
    expect(there(service).flavor).toBe("m1.small");
    await web.expectOne();
  },
);

test("a reverted program reverts what the first attempt of an update sets after the operation of the second attempt failed", async () => {
  let afterPut = (): void => {};
  const { service, web } = await oneInstance({
    behaviour: { putReply: 202 },
    onRequest: ({ method }) => method === "PUT" && afterPut(),
  });
  const { emulator } = service;
  await web.up();
  emulator.behaviour.operationMs = 3_600_000;
  emulator.fail({ method: "PUT", kind: "lost-reply" });
  afterPut = () => {
    afterPut = () => {};
    emulator.behaviour.operationMs = 1_000;
    emulator.failNextOperation({ kind: "update" });
  };
  expect(await web.up({ flavor: "m1.large" })).toContain("code operation_failed");
  emulator.finishOperations();
  expect(there(service).flavor).toBe("m1.large");
  expect(await web.up()).toBeUndefined();
  expect(there(service).flavor).toBe("m1.small");
  await web.expectOne();
});

test("a reverted program requires no update if a failed operation has changed nothing", async () => {
  const { service, web } = await oneInstance({ behaviour: { putReply: 202 } });
  const { emulator } = service;
  await web.up();
  emulator.failNextOperation({ kind: "update" });
  expect(await web.up({ flavor: "m1.large" })).toContain("code operation_failed");
  emulator.failNextOperation({ kind: "update" });
  expect(await web.up()).toBeUndefined();
  expect(emulator.requests.filter(({ method }) => method === "PUT")).toHaveLength(1);
  await web.expectOne();
});

describe.each<[Record<string, unknown>, Record<string, unknown>]>([
  [{ publicIp: "auto" }, { public_ip: "auto" }],
  [{ labels: { team: "web" } }, { labels: { team: "web" } }],
  [{ sshKeys: [SSH_KEY] }, { ssh_keys: [SSH_KEY] }],
])("a value that somebody sets after an update to %j whose operation has failed", (news, theirs) => {
  test("isn't removed after a timeout, a conflict and a refresh", async () => {
    const { service, web, end } = await slowUpdate({}, news, { fails: true });
    end();
    service.emulator.edit(web.inState().id, { network: "theirs" });
    expect(await web.up({ ...SHORT, ...news })).toContain("another client changed network");
    await web.refresh();
    service.emulator.edit(web.inState().id, theirs);
    expect(await web.up({ ...SHORT, network: "theirs" })).toBeUndefined();
    expect(there(service)).toMatchObject({ ...theirs, network: "theirs" });
  });
});

test("a value that the service doesn't show is sent again after a failed operation, even at the same revision", async () => {
  const { service, web } = await oneInstance({
    behaviour: { putReply: 202, unshown: ["labels"], revisionOf: "shown" },
  });
  const { emulator } = service;
  await web.up({ labels: { team: "web" } });
  emulator.failNextOperation({ kind: "update" });
  expect(await web.up({ labels: { team: "db" } })).toContain("code operation_failed");
  emulator.edit(web.inState().id, { labels: { team: "db" } });
  expect(await web.up({ labels: { team: "web" } })).toBeUndefined();
  expect(there(service).labels).toEqual({ team: "web" });
});

describe.each<[string, Partial<Behaviour>]>([
  ["omits", { unshown: ["ssh_keys"] }],
  ["returns null for", { spelling: (now) => ({ ...now, ssh_keys: null }) }],
])("if the service %s SSH keys, a key that a failed operation may have set", (_, behaviour) => {
  test.each([false, true])("is removed by a reverted program, after a refresh: %s", async (refresh) => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 202, ...behaviour } });
    const { emulator } = service;
    await web.up({ sshKeys: [SSH_KEY] });
    emulator.failNextOperation({ kind: "update" });
    expect(await web.up({ sshKeys: [SSH_KEY, OTHER_KEY] })).toContain("code operation_failed");
    emulator.edit(web.inState().id, { ssh_keys: [SSH_KEY, OTHER_KEY] });
    if (refresh) await web.refresh();
    expect(await web.up({ sshKeys: [SSH_KEY] })).toBeUndefined();
    expect(there(service).ssh_keys).toEqual([SSH_KEY]);
    await web.expectOne();
  });
});

test.each([false, true])(
  "a hidden SSH key that a failed operation didn't remove is removed by the next update, after a refresh: %s",
  async (refresh) => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 202, unshown: ["ssh_keys"] } });
    const { emulator } = service;
    await web.up({ sshKeys: [SSH_KEY] });
    emulator.failNextOperation({ kind: "update" });
    expect(await web.up({ flavor: "m1.large" })).toContain("code operation_failed");
    emulator.edit(web.inState().id, { flavor: "m1.large" });
    if (refresh) await web.refresh();
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(there(service).ssh_keys).toEqual([]);
  },
);
