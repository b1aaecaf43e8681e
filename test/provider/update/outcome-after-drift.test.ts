import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { secretsOf } from "../../../src/model/secrets";
import { type Properties, parseRecorded } from "../../../src/model/state";
import { unmarked } from "../marked";
import { oneInstance } from "../one-instance";
import { changed, existingInstance, failureOf, type Saved } from "../service";
import { type RacedService, startRaced } from "./raced-service";

/** The resource after a refresh: the state has what somebody else has changed. */
async function refreshed(
  { newProviders }: RacedService,
  saved: Saved,
  state = saved.state,
): Promise<Properties> {
  const { instances } = await newProviders();
  const { props } = await instances.read(saved.id, state);
  return { ...props };
}

describe.each(["ids", "upper-case"] as const)("a service that normalizes values: %s", (way) => {
  const behaviour = { normalize: [way] };

  test("an update of unknown outcome is applied by one retry after a refresh", async () => {
    const service = await startRaced({ behaviour });
    const saved = await existingInstance(service);
    await service.updated(saved, { flavor: "m1.large" }); // the state doesn't know of it
    const state = await refreshed(service, saved);
    const { outs } = await service.updated(saved, { flavor: "m1.large" }, state);
    expect(outs).toMatchObject({ flavor: "m1.large" });
    expect(await refreshed(service, saved, outs)).toMatchObject({ flavor: "m1.large" });
  });

  test("a change that somebody reverts is not drift, even if a refresh has seen it", async () => {
    const service = await startRaced({ behaviour });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { flavor: "m1.large" });
    const state = await refreshed(service, saved);
    expect(state.flavor).not.toBe("m1.small");
    service.emulator.edit(saved.id, { flavor: "m1.small" });
    const { __words, flavor } = await refreshed(service, saved, state);
    expect({ __words, flavor }).toEqual({ __words: saved.state.__words, flavor: "m1.small" });
  });

  test("drift that the service accepts to correct, but doesn't, is an error in each update", async () => {
    const service = await startRaced({ behaviour });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { flavor: "m1.large" });
    service.emulator.ignoreUpdatesOf("flavor");
    let state = await refreshed(service, saved);
    for (const _ of ["first", "again"]) {
      const error = await failureOf(service.updated(saved, {}, state));
      expect(error.message).toContain("did not change flavor");
      state = { ...Object(Object(error).properties) };
    }
  });

  test("a change that is ignored is an error after drift was removed as well", async () => {
    const service = await startRaced({ behaviour });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { flavor: "m1.large" });
    const { outs } = await service.updated(saved, {}, await refreshed(service, saved));
    service.emulator.ignoreUpdatesOf("flavor");
    const error = await failureOf(service.updated(saved, { flavor: "m1.huge" }, outs));
    expect(error.message).toContain("did not change flavor");
  });
});

describe("an update to a value that somebody has already set, at a service that shows ids,", () => {
  const news = { network: "default", flavor: "m1.large" };

  async function adopted(more: Properties) {
    const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"] } });
    expect(await web.up({ network: "backend" })).toBeUndefined();
    service.emulator.edit(web.inState().id, { network: "default" });
    await web.refresh();
    return { web, said: await web.up({ ...news, ...more }) };
  }

  test("requires another update if it changes another property, too", async () => {
    const { web, said } = await adopted({});
    expect(said).toContain("Run `pulumi up` again");
    expect(await web.up(news)).toBeUndefined();
    await web.refresh();
    expect(web.inState().inputs).toMatchObject(news);
  });

  test("requires no other update if it changes nothing else", async () => {
    expect((await adopted({ flavor: "m1.small" })).said).toBeUndefined();
  });
});

test("an update of unknown outcome is applied even if the service assigns a new revision to each update: capital letters", async () => {
  const service = await startRaced({ behaviour: { normalize: ["upper-case"] } });
  const saved = await existingInstance(service);
  await service.updated(saved, { flavor: "m1.large" }); // the state doesn't know of it
  const state = await refreshed(service, saved);
  service.after("PUT", () => service.emulator.touch(saved.id));
  const { outs } = await service.updated(saved, { flavor: "m1.large" }, state);
  expect(outs).toMatchObject({ flavor: "m1.large" });
});

test("a secret that a service normalizes, and that somebody changes, is redacted as long as the state has it", async () => {
  const service = await startRaced({ behaviour: { normalize: ["upper-case"] } });
  const saved = await existingInstance(service, { network: "back-3f9d1c", __secrets: ["network"] });
  service.emulator.edit(saved.id, { network: "other" });
  const state = await refreshed(service, saved);
  expect(secretsOf(parseRecorded(unmarked(state))).strings).toEqual(
    expect.arrayContaining(["OTHER", "back-3f9d1c", "BACK-3F9D1C"]),
  );
});

test("a property that an update of unknown outcome has removed is not a conflict if the service omits it", async () => {
  const service = await startRaced({ behaviour: { absentValues: "omitted" } });
  const saved = await existingInstance(service, { publicIp: "auto" });
  const news = changed(saved, { publicIp: undefined, flavor: "m1.large" });
  await service.instances.update(saved.id, saved.state, news); // the state doesn't know of it
  const { outs } = await service.instances.update(saved.id, saved.state, news);
  expect(outs).toMatchObject({ flavor: "m1.large" });
  expect(outs.publicIp).toBeUndefined();
});

test.each([false, true])(
  "the normalized form of a new value is learned although the reply to the update was lost, refreshed twice: %s",
  async (isTwice) => {
    const spelling = (now: Readonly<Record<string, unknown>>): object => ({
      ...now,
      ...(now.public_ip === "auto" && { public_ip: "Dynamic" }),
    });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    await web.up({ publicIp: "none" });
    service.emulator.fail({ kind: "lost-reply", method: "PUT" });
    expect(await web.up({ publicIp: "auto" })).toContain("a reply to this update was lost");
    await web.refresh();
    if (isTwice) await web.refresh();
    expect(await web.up({ publicIp: "auto" })).toBeUndefined();
    await web.refresh();
    expect(web.inState().state.publicIp).toBe("auto");
  },
);

describe("a service that shows SSH keys by their fingerprints", () => {
  const [ours, theirs] = ["A", "B"].map((key) => `ssh-ed25519 ${key} comment`);
  const fingerprints = (now: Readonly<Record<string, unknown>>): object => ({
    ...now,
    ssh_keys: (Array.isArray(now.ssh_keys) ? now.ssh_keys : []).map((key) => ({
      fingerprint: String(key).split(" ")[1],
    })),
  });

  async function drifted() {
    const service = await startRaced({ behaviour: { spelling: fingerprints } });
    const saved = await existingInstance(service, { sshKeys: [ours] });
    service.emulator.edit(saved.id, { ssh_keys: [ours, theirs] });
    return { service, saved, state: await refreshed(service, saved) };
  }

  test("keeps a key that somebody has added once the program has it, too", async () => {
    const { service, saved, state } = await drifted();
    const sshKeys = [ours, theirs];
    const { outs } = await service.updated(saved, { sshKeys }, state);
    expect(await refreshed(service, saved, outs)).toMatchObject({ sshKeys });
    expect(outs).not.toHaveProperty("__applied");
  });

  test("has a key that an update with a lost reply has added, so that the next `up` after a refresh succeeds", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling: fingerprints } });
    await web.up();
    service.emulator.fail({ kind: "lost-reply", method: "PUT" });
    expect(await web.up({ sshKeys: [ours] })).toContain("a reply to this update was lost");
    await web.refresh();
    expect(await web.up({ sshKeys: [ours] })).toBeUndefined();
    service.emulator.clearRequests();
    expect(await web.up({ sshKeys: [ours] })).toBeUndefined();
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  test("may already have a key that the program adds, so the error says to check the service before a replacement", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling: fingerprints } });
    await web.up();
    service.emulator.edit(web.inState().id, { ssh_keys: [ours] });
    await web.refresh();
    expect(await web.up({ sshKeys: [ours] })).toContain("possibly in a normalized form");
  });

  test("doesn't count as having a label that it ignores and doesn't show", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    service.emulator.ignoreUpdatesOf("labels");
    const said = await web.up({ labels: { tier: "web" } });
    expect(said).toContain("did not change labels");
    expect(said).not.toContain("possibly in a normalized form");
  });

  test("doesn't count as having a key that it ignores, with any outcome of the first update", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling: fingerprints } });
    await web.up();
    service.emulator.ignoreUpdatesOf("ssh_keys");
    const lost = service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 99 });
    expect(await web.up({ sshKeys: [ours] })).toContain("may have applied the update");
    lost.off();
    await web.refresh();
    for (const _ of ["first", "again"])
      expect(await web.up({ sshKeys: [ours] })).toContain("did not change sshKeys");
  });

  test("must remove that key if the program doesn't have it", async () => {
    const { service, saved, state } = await drifted();
    service.emulator.ignoreUpdatesOf("ssh_keys");
    const error = await failureOf(service.updated(saved, {}, state));
    expect(error.message).toContain("did not change sshKeys");
  });
});

const MINUTES = 60_000;

/** Somebody changes the network, and a refresh accepts the change. */
async function withDrift(behaviour: Partial<Behaviour>) {
  const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"], ...behaviour } });
  expect(await web.up({ network: "backend" })).toBeUndefined();
  service.emulator.edit(web.inState().id, { network: "default" });
  await service.clock.advance(5 * MINUTES);
  await web.refresh();
  return { service, web };
}

describe.each([
  ["a GET that lags", { lagIn: "reads", lagMs: 1_000 }],
  ["a list that lags, and no GET", { lagIn: "lists", lagMs: 10_000, getObject: 405 }],
] as const)("after drift at a service with ids, %s,", (_name, lag) => {
  test.each([204, 202] as const)(
    "a third value counts as set only once it is shown: PUT %d",
    async (putReply) => {
      const { service, web } = await withDrift({ putReply, ...lag });
      const news = { network: "front" };
      expect(await web.up(news)).toBeUndefined();
      await service.clock.advance(5 * MINUTES);
      await web.refresh();
      expect(web.inState().inputs).toMatchObject(news);
      expect(await web.up({ network: "backend" })).toBeUndefined();
      expect(await web.up(news)).toBeUndefined();
    },
  );
});

test("a value that somebody has already set counts as set at the deadline if the PUT's reply is a 202 without an operation", async () => {
  const { web } = await withDrift({ putReply: 202, acceptedReply: "bare" });
  const news = { network: "default" };
  expect(await web.up(news)).toBeUndefined();
  await web.refresh();
  expect(web.inState().inputs).toMatchObject(news);
});
