import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { type OneInstance, oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";
import type { Service } from "../service";

const EVERYTHING = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "a" } };

/** Lets somebody change the instance between the next PUT and the look after it. */
function editedAfterPut({ emulator }: Service, web: OneInstance, edit: Properties): void {
  let isDone = false;
  const count = emulator.requests.filter(({ method }) => method === "PUT").length;
  const when = () => {
    const puts = emulator.requests.filter(({ method }) => method === "PUT").length;
    if (!isDone && puts > count) {
      isDone = true;
      emulator.edit(web.inState().id, edit);
    }
    return false;
  };
  emulator.fail({ kind: "reset", method: "GET", when });
}

describe("an argument that the service has shown, and that somebody removes,", () => {
  test.each([
    [200, { public_ip: undefined }, "publicIp", undefined],
    [204, { public_ip: undefined }, "publicIp", undefined],
    [204, { ssh_keys: undefined }, "sshKeys", []],
    [204, { labels: undefined }, "labels", {}],
  ] as const)("after the PUT (%d) and before the read is drift: %j", async (putReply, edit, name, left) => {
    const { service, web } = await oneInstance({ behaviour: { putReply } });
    service.emulator.behaviour.spelling = (now) => without(now, edit);
    await web.up(EVERYTHING);
    await web.refresh();
    editedAfterPut(service, web, edit);
    const news = { ...EVERYTHING, flavor: "m1.large" };
    await web.up(news);
    await web.refresh();
    expect(web.inState().inputs[name]).toEqual(left);
    expect(await web.up(news)).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs).toMatchObject(news);
    await web.expectOne();
  });

  test("before an `up` that only marks an argument as secret is drift", async () => {
    const { service, web } = await oneInstance();
    await web.up(EVERYTHING);
    await web.refresh();
    service.emulator.edit(web.inState().id, { public_ip: undefined });
    await web.up({ ...EVERYTHING, __secrets: ["flavor"] });
    await web.refresh();
    expect(web.inState().inputs).not.toHaveProperty("publicIp");
    expect(await web.up(EVERYTHING)).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs).toMatchObject(EVERYTHING);
  });
});

test("an address that an update has removed and the service then omits is not drift", async () => {
  const { service, web } = await oneInstance();
  await web.up({ publicIp: "auto" });
  await web.refresh();
  service.emulator.behaviour.spelling = (now) =>
    now.public_ip === "none" ? { ...now, public_ip: undefined } : now;
  expect(await web.up({ publicIp: "none" })).toBeUndefined();
  const { revision } = web.inState().state;
  expect(revision).toBe(service.emulator.instances.get(web.inState().id)?.revision);
  await web.refresh();
  expect(web.inState()).toMatchObject({ inputs: { publicIp: "none" }, state: { revision } });
});

describe('a service that shows an instance without an address as one with the address "none"', () => {
  async function withAddress() {
    const { service, web } = await oneInstance();
    service.emulator.behaviour.spelling = (now) => ({ ...now, public_ip: now.public_ip ?? "none" });
    await web.up({ publicIp: "auto" });
    return { service, web };
  }

  async function expectNone(web: OneInstance): Promise<void> {
    expect(web.inState().state).not.toHaveProperty("publicIp");
    await web.refresh();
    expect(web.inState().inputs).not.toHaveProperty("publicIp");
    await web.expectOne();
  }

  test("has removed it once the program no longer asks for the address that somebody has removed", async () => {
    const { service, web } = await withAddress();
    service.emulator.edit(web.inState().id, { public_ip: undefined });
    await web.refresh();
    expect(web.inState().inputs).toMatchObject({ publicIp: "none" });
    expect(await web.up()).toBeUndefined();
    await expectNone(web);
  });

  test("has removed it if the reply to the update was lost", async () => {
    const { service, web } = await withAddress();
    const lost = service.emulator.fail({
      kind: "lost-reply",
      method: "PUT",
      times: Number.POSITIVE_INFINITY,
    });
    expect(await web.up()).toContain("The service may have applied the update");
    lost.off();
    expect(await web.up()).toBeUndefined();
    await expectNone(web);
  });

  test("assigns it again if an outage hid the result of the update and the program is reverted", async () => {
    const { service, web } = await withAddress();
    const outage = service.emulator.fail({
      kind: "status",
      method: "GET",
      when: () => service.emulator.requests.some(({ method }) => method === "PUT"),
      times: Number.POSITIVE_INFINITY,
    });
    expect(await web.up()).toContain("Run `pulumi up` again");
    outage.off();
    expect(service.emulator.instances.get(web.inState().id)?.fields.public_ip).toBeUndefined();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    expect(service.emulator.instances.get(web.inState().id)?.fields.public_ip).toBe("auto");
    await web.expectOne();
  });

  test("hasn't removed it as long as it shows an address", async () => {
    const { service, web } = await withAddress();
    service.emulator.ignoreUpdatesOf("public_ip");
    expect(await web.up()).toContain("did not change publicIp");
  });
});

/** Omits the fields of an edit that are empty. */
function without(now: Readonly<Properties>, edit: object): Properties {
  const isEmpty = (value: unknown): boolean => JSON.stringify(value ?? []).length <= 2;
  return Object.fromEntries(
    Object.entries(now).filter(([name, value]) => !(name in edit) || !isEmpty(value)),
  );
}

const isEmpty = (v: unknown): boolean =>
  v === null || v === "" || (typeof v === "object" && Object.keys(v as object).length === 0);
const withoutEmptyFields = (now: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(now).filter(([, v]) => !isEmpty(v)));
/** Rewrites replies as a service does that omits empty fields (`omitempty` in Go) and shows no mode for no public address. */
const noneIsNull = (now: Readonly<Record<string, unknown>>): object =>
  withoutEmptyFields({ ...now, public_ip: now.public_ip === "none" ? null : now.public_ip });
const ALL = { publicIp: "auto", labels: { env: "prod" }, sshKeys: [SSH_KEY] };
const cases: [string, Properties][] = [
  ["sshKeys: []", { sshKeys: [] }],
  ["sshKeys removed", { sshKeys: undefined }],
  ["labels: {}", { labels: {} }],
  ["labels removed", { labels: undefined }],
  ["publicIp: none", { publicIp: "none" }],
  ["publicIp removed", { publicIp: undefined }],
];

describe.each(cases)("%s at a service that omits empty fields", (_name, change) => {
  /** Creates the instance with all properties. */
  async function started() {
    const one = await oneInstance({ behaviour: { spelling: noneIsNull } });
    expect(await one.web.up(ALL)).toBeUndefined();
    return one;
  }

  /** Changes the instance during an outage that loses all replies. */
  async function interrupted() {
    const one = await started();
    one.service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 8 });
    expect(await one.web.up({ ...ALL, ...change })).toContain("The service may have applied the update");
    return one;
  }

  test("is updated", async () => {
    const { web } = await started();
    expect(await web.up({ ...ALL, ...change })).toBeUndefined();
  });

  test("is updated even if one reply is lost", async () => {
    const { web, service } = await started();
    service.emulator.fail({ kind: "lost-reply", method: "PUT" });
    expect(await web.up({ ...ALL, ...change })).toBeUndefined();
  });

  test("is finished by the next `up` if an outage loses all replies", async () => {
    const { web } = await interrupted();
    expect(await web.up({ ...ALL, ...change })).toBeUndefined();
  });

  test("can be reverted together with another change if an outage loses all replies", async () => {
    const { web } = await interrupted();
    expect(await web.up({ ...ALL, network: "other" })).toBeUndefined();
  });
});
