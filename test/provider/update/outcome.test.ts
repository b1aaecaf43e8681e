import { describe, expect, test } from "vitest";
import type { Accepted, ApiObject } from "../../../src/api/client";
import type { Behaviour } from "../../../src/emulator";
import { instanceKind } from "../../../src/model/resource-fields";
import { type Properties, parseDesired, parseRecorded, toBag } from "../../../src/model/state";
import { outputsAfterUpdate, waitUntilApplied } from "../../../src/provider/update/outcome";
import type { Change } from "../../../src/provider/update/unfinished";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { oneInstance } from "../one-instance";
import { instanceNews, SSH_KEY } from "../samples";
import { changed, existingInstance, failureOf, startService } from "../service";
import { startRaced } from "./raced-service";

const withoutKeys = ({ ssh_keys, ...now }: Readonly<Properties>): object => now;

/** What an update of the flavor comes to if the service replies with this, and shows the object at these revisions. */
async function outcomeOf(accepted: (before: ApiObject) => Accepted, shown: Properties, revisions: string[]) {
  const fake = new FakeService();
  fake.addProject("prj-1");
  const fieldsOf = (more: Properties) => ({ ...instanceNews(), id: "ins-1", ...more });
  const before = { id: "ins-1", fields: fieldsOf({ flavor: "m1.small" }), revision: "r1" };
  const show = (revision: string): void =>
    void fake.instances.set("ins-1", { id: "ins-1", fields: fieldsOf(shown), revision });
  show(revisions[0] ?? "r1");
  fake.whenAsked = () => show(revisions.shift() ?? "r2");
  const call = callTo(fake, instanceKind);
  const olds = parseRecorded({ ...instanceNews(), revision: "r1" });
  const news = parseDesired(instanceNews({ flavor: "m1.large" }));
  const fields = instanceKind.fields.filter(({ name }) => name === "flavor");
  const change: Change = { id: "ins-1", olds, news, fields, ignored: [] };
  const outcome = await waitUntilApplied(call, change, {
    kind: "accepted",
    accepted: accepted(before),
    before,
  });
  return { outcome, outs: toBag(outputsAfterUpdate(call, change, outcome)) };
}

describe("a reply to an update that shows the object as it was before", () => {
  test.each<[string, (before: ApiObject) => Accepted]>([
    ["202", (object) => ({ kind: "object", object: { ...object, revision: undefined }, deferred: true })],
    ["200 with the former revision", (object) => ({ kind: "object", object })],
    ["200 without a revision", (object) => ({ kind: "object", object: { ...object, revision: undefined } })],
  ])("doesn't show how the service normalizes the new value: %s", async (_status, accepted) => {
    const { outs } = await outcomeOf(accepted, { flavor: "m1.large" }, ["r2"]);
    expect(outs).toMatchObject({ flavor: "m1.large", revision: "r2" });
    expect("__words" in outs).toBe(false);
  });
});

/** What an update comes to if reads show these fields at these revisions. The last read repeats. */
async function outcomeOfReads(
  [state, news]: [Properties, Properties],
  accepted: Accepted,
  reads: readonly [string, Properties][],
) {
  const fake = new FakeService();
  fake.addProject("prj-1");
  const objectOf = ([revision, more]: readonly [string, Properties]) => ({
    ...{ id: "ins-1", revision, isFromOwnUrl: true },
    fields: { ...instanceNews(), id: "ins-1", ...more },
  });
  const [before = ["r1", {}]] = reads;
  const left = [...reads];
  fake.instances.set("ins-1", objectOf(before));
  fake.whenAsked = () => void fake.instances.set("ins-1", objectOf(left.shift() ?? reads.at(-1) ?? before));
  const call = callTo(fake, instanceKind);
  const olds = parseRecorded({ ...instanceNews(state), revision: "r1" });
  const wanted = parseDesired(instanceNews({ ...state, ...news }));
  const fields = instanceKind.fields.filter(({ name }) => Object.hasOwn(news, name));
  const change: Change = { id: "ins-1", olds, news: wanted, fields, ignored: [] };
  const sent = { kind: "accepted", accepted, before: objectOf(before) } as const;
  const outcome = await waitUntilApplied(call, change, sent);
  const outs = toBag(outputsAfterUpdate(call, change, outcome));
  return { outcome, outs, ms: call.session.clock.now() };
}

describe.each<[string, Accepted]>([
  ["204", { kind: "none" }],
  ["202", { kind: "none", deferred: true }],
])("a reply without the object: %s", (_status, accepted) => {
  test("is followed by reads until the address of a new mode has a new revision", async () => {
    const address = "203.0.113.5";
    const { outs } = await outcomeOfReads(
      [{ publicIp: address, ipAddress: address }, { publicIp: "auto" }],
      accepted,
      [
        ["r1", { ip_address: address }],
        ["r1", { ip_address: address }],
        ["r2", { ip_address: "203.0.113.77" }],
      ],
    );
    expect(outs).toMatchObject({ revision: "r2", ipAddress: "203.0.113.77" });
  });

  test.each<[string, Properties, Properties, Properties]>([
    [
      "the service always returns as null",
      { network: "default", __words: { network: null } },
      { network: "backend" },
      { network: null },
    ],
    ["only differs in case", { flavor: "M1.small" }, { flavor: "m1.Small" }, { flavor: "m1.small" }],
  ])("is followed by a single read if a value %s", async (_which, state, news, shown) => {
    const { outcome, ms } = await outcomeOfReads([state, news], accepted, [["r1", shown]]);
    expect(outcome.unapplied).toEqual([]);
    expect(ms).toBe(0);
  });
});

describe("an accepted value that isn't shown", () => {
  const nothing = (): Accepted => ({ kind: "none" });

  // The service may have had it before, or make revisions of nothing but what it shows.
  test("counts as set even if the revision is still the one that If-Match carried", async () => {
    const { outcome } = await outcomeOf(nothing, { flavor: undefined }, Array(9).fill("r1"));
    expect(outcome.unapplied).toEqual([]);
  });

  test("is awaited until the revision changes", async () => {
    const { outcome } = await outcomeOf(nothing, { flavor: undefined }, ["r1", "r1"]);
    expect(outcome).toMatchObject({ unapplied: [], object: { revision: "r2" } });
  });
});

test.each<[string, Partial<Behaviour>, Properties, Properties]>([
  ["and isn't shown", { spelling: withoutKeys }, { ssh_keys: [SSH_KEY] }, { sshKeys: [SSH_KEY] }],
  ["as an address", { ipField: "public_ip" }, { public_ip: "auto" }, { publicIp: "auto" }],
  [
    "as an address, without a reply",
    { ipField: "public_ip", putReply: 204 },
    { public_ip: "auto" },
    { publicIp: "auto" },
  ],
  [
    "in small letters",
    { normalize: ["lower-case"] },
    { labels: { team: "Web" } },
    { labels: { team: "Web" } },
  ],
])(
  "a value that the object already has %s can be set after a refresh",
  async (_how, behaviour, there, news) => {
    const service = await startRaced({ behaviour });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, there);
    const { props } = await service.instances.read(saved.id, saved.state);
    const { outs } = await service.updated(saved, news, { ...props });
    expect(outs).toMatchObject(news);
    expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject(news);
  },
);

describe("a list that lags behind an update for longer than a few seconds", () => {
  async function lagging(behaviour: object, lagMs: number) {
    const service = await startRaced({ behaviour: { getObject: 405, ...behaviour } });
    const saved = await existingInstance(service);
    Object.assign(service.emulator.behaviour, { lagMs, lagPart: "fields" });
    await service.clock.advance(lagMs + 1_000);
    return { service, saved };
  }

  test.each([{ writeReply: "slim" }, { putReply: 202 }])("is awaited: %j", async (behaviour) => {
    const { service, saved } = await lagging(behaviour, 20_000);
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({
      flavor: "m1.large",
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
  });

  test("doesn't change the state, except for the record that the update was accepted", async () => {
    const { service, saved } = await lagging({ writeReply: "slim" }, 3_600_000);
    const error = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(error.message).toContain("still returns an older revision");
    expect(error).toMatchObject({
      properties: {
        flavor: "m1.small",
        revision: saved.state.revision,
        __pending: { asked: { flavor: "m1.large" } },
      },
    });
  });
});

const OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther grace@example.org";

describe.each([200, 202, 204] as const)(
  "an update that reads don't show for ten seconds (PUT %d)",
  (putReply) => {
    test("is finished when reads show it, so that later commands neither conflict with it nor revert it", async () => {
      const { service, web } = await oneInstance({ behaviour: { putReply, lagIn: "reads", lagMs: 10_000 } });
      await web.up();
      await service.clock.sleep(60_000);
      expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.flavor).toBe("m1.large");
      expect(await web.up({ flavor: "m1.large", network: "backend" })).toBeUndefined();
    });
  },
);

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
