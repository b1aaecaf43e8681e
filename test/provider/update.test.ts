import { describe, expect, test } from "vitest";
import type { Properties } from "../../src/model/state";
import { oneInstance } from "./one-instance";
import { SSH_KEY } from "./samples";
import { changed, existingInstance, failureOf, type Saved, type Service, startService } from "./service";

const everything = { publicIp: "auto", sshKeys: [SSH_KEY], labels: { team: "web" } };

/** An update as the host asks for it, with the state's outputs and the checked inputs. */
function updated({ instances }: Service, saved: Saved, more: Properties) {
  return instances.update(saved.id, saved.state, changed(saved, more));
}

const putsOf = ({ emulator }: Service) => emulator.requests.filter(({ method }) => method === "PUT");
const bodyOf = (request: { body: string } | undefined): Properties => JSON.parse(request?.body ?? "");

describe("each property is changed in place:", () => {
  test.each([
    ["name", "name", "front", "front"],
    ["flavor", "flavor", "m1.large", "m1.large"],
    ["network", "network", "backend", "backend"],
    ["publicIp", "public_ip", "203.0.113.50", "203.0.113.50"],
    ["publicIp", "public_ip", undefined, undefined],
    ["sshKeys", "ssh_keys", ["ssh-rsa AAAAB4"], ["ssh-rsa AAAAB4"]],
    ["sshKeys", "ssh_keys", undefined, []],
    ["labels", "labels", { team: "ops", tier: "a" }, { team: "ops", tier: "a" }],
    ["labels", "labels", undefined, {}],
  ])("%s → %s: %j", async (name, wire, value, atService) => {
    const service = await startService();
    const saved = await existingInstance(service, everything);
    const { outs } = await updated(service, saved, { [name]: value });
    expect(service.emulator.instances.get(saved.id)?.fields[wire]).toEqual(atService);
    expect(outs[name]).toEqual(value);
    expect(outs.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
    expect(putsOf(service)).toHaveLength(1);
  });
});

describe("the request of an update", () => {
  test.each([
    ["a header", "header"],
    ["a field", "body"],
    ["both", "both"],
    ["a weak tag", "weak"],
  ] as const)(
    "has the state's revision in If-Match, quoted and strong, if it came in %s",
    async (_where, revision) => {
      const service = await startService({ behaviour: { revision } });
      const saved = await existingInstance(service);
      const inForce = service.emulator.instances.get(saved.id)?.revision;
      service.emulator.clearRequests();
      if (revision === "weak")
        service.emulator.behaviour = { ...service.emulator.behaviour, revision: "both" };
      await updated(service, saved, { flavor: "m1.large" });
      expect(putsOf(service)[0]?.headers["if-match"]).toBe(`"${inForce}"`);
    },
  );

  test("has a revision from the field that the setting names", async () => {
    const service = await startService({
      behaviour: { revision: "body", revisionField: "lock" },
      config: { revisionField: "lock" },
    });
    const saved = await existingInstance(service);
    const inForce = service.emulator.instances.get(saved.id)?.revision;
    await updated(service, saved, { flavor: "m1.large" });
    expect(putsOf(service)[0]?.headers["if-match"]).toBe(`"${inForce}"`);
  });

  test("has a full body that keeps unmanaged fields", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "ops" }, public_ip: "auto" });
    const { props } = await service.instances.read(saved.id, saved.state);
    const { outs } = await updated(service, { ...saved, state: { ...props } }, { flavor: "m1.large" });
    expect(bodyOf(putsOf(service)[0])).toEqual({
      project: saved.state.project,
      name: "web",
      image: "debian-13",
      flavor: "m1.large",
      network: "default",
      public_ip: "auto",
      ssh_keys: [],
      labels: { owner: "ops", team: "web" },
    });
    expect(outs.labels).toEqual({ team: "web" });
    expect("publicIp" in outs).toBe(false);
  });
});

describe("labels that the service shows as a list", () => {
  test.each<[string, (pair: [string, unknown]) => unknown]>([
    ["pairs", ([key, value]) => ({ key, value })],
    ["strings", (pair) => pair.join("=")],
  ])("of %s are changed, and unmanaged ones are kept", async (_form, item) => {
    const spelling = (now: { labels?: unknown }) => ({
      ...now,
      labels: Object.entries(Object(now.labels)).map(item),
    });
    const service = await startService({ behaviour: { spelling } });
    const saved = await existingInstance(service, everything);
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "ops" } });
    const { outs } = await updated(service, saved, { labels: { team: "api" } });
    expect(outs.labels).toEqual({ team: "api" });
    expect(service.emulator.instances.get(saved.id)?.fields.labels).toEqual({ team: "api", owner: "ops" });
  });
});

describe("the reply to an update", () => {
  test.each([200, 204, 202] as const)(
    "%d is followed by a read, which becomes the state",
    async (putReply) => {
      const service = await startService({ behaviour: { putReply } });
      const saved = await existingInstance(service, everything);
      const { outs } = await updated(service, saved, { flavor: "m1.large" });
      const now = await service.instances.read(saved.id, { ...outs });
      expect(now.props).toEqual(outs);
      expect(service.emulator.requests.at(-1)?.method).toBe("GET");
    },
  );

  test("is followed by one read if that shows the change", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.clearRequests();
    await updated(service, saved, { flavor: "m1.large" });
    expect(service.emulator.requests.map(({ method }) => method)).toEqual(["GET", "PUT", "GET"]);
  });

  test.each([404, 405] as const)("is followed by a list if GET returns %d", async (getObject) => {
    const service = await startService({ behaviour: { getObject } });
    const saved = await existingInstance(service);
    const { outs } = await updated(service, saved, { flavor: "m1.large" });
    expect(outs.flavor).toBe("m1.large");
    expect(outs.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
  });

  test("that was lost is requested again, and the update succeeds", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "reset" });
    const { outs } = await updated(service, saved, { flavor: "m1.large" });
    expect(outs.flavor).toBe("m1.large");
    expect(putsOf(service)).toHaveLength(2);
  });
});

describe("a normalized value", () => {
  test("of an unchanged argument is not recorded as a change", async () => {
    const service = await startService({ behaviour: { ipField: "public_ip" } });
    const saved = await existingInstance(service, everything);
    expect(saved.state.__words).toEqual({ publicIp: saved.state.ipAddress });
    const { outs } = await updated(service, saved, { flavor: "m1.large" });
    expect(outs.__words).toEqual(saved.state.__words);
    expect(outs).toMatchObject({ publicIp: "auto", ipAddress: saved.state.ipAddress });
  });

  test("is removed with the argument, and so is the address", async () => {
    const service = await startService({ behaviour: { ipField: "public_ip" } });
    const saved = await existingInstance(service, everything);
    const { outs } = await updated(service, saved, { publicIp: undefined });
    expect("__words" in outs || "publicIp" in outs || "ipAddress" in outs).toBe(false);
  });
});

describe("without its own changes,", () => {
  test("an update that the engine requests sends nothing and saves hidden inputs", async () => {
    const service = await startService();
    const saved = await existingInstance(service, everything);
    service.emulator.clearRequests();
    const { outs } = await updated(service, saved, { __timeouts: { delete: "5m" } });
    expect(outs).toEqual({ ...saved.state, __provider: undefined, __timeouts: { delete: "5m" } });
    expect(service.emulator.requests.map(({ method }) => method)).toEqual(["GET"]);
  });
});

describe("an update that the service accepts with 202 and no operation to wait for", () => {
  /** An instance whose update takes that long, and of which the service tells nothing but its acceptance. */
  async function accepted(operationMs: number) {
    const service = await startService({ behaviour: { putReply: 202, location: "missing" } });
    const saved = await existingInstance(service, { __timeouts: { update: "10m" } });
    service.emulator.behaviour.operationMs = operationMs;
    service.emulator.fail({ method: "PUT", kind: "empty", times: Number.POSITIVE_INFINITY });
    return { service, saved };
  }

  test("is awaited until the change is visible", async () => {
    const { service, saved } = await accepted(5 * 60_000);
    const { outs } = await updated(service, saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({
      flavor: "m1.large",
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
  });

  test("is an error at its deadline, and the next update resumes it", async () => {
    const { service, saved } = await accepted(3_600_000);
    const error = await failureOf(updated(service, saved, { flavor: "m1.large" }));
    expect(error.message).toContain("accepted the update, but did not change flavor within 10 min");
    expect(error.message).toContain("customTimeouts");
    expect(error.message, "they take precedence").not.toContain("cloudinfra:operationTimeout");
    expect(error.message).toContain("code timeout");
    expect(error).toHaveProperty("properties.flavor", "m1.small");
    service.emulator.finishOperations();
    const puts = putsOf(service).length;
    const { outs } = await updated(
      service,
      { ...saved, state: { ...Object(Object(error).properties) } },
      { flavor: "m1.large" },
    );
    expect(outs.flavor).toBe("m1.large");
    expect(putsOf(service)).toHaveLength(puts);
  });
});

describe("a reply to the update that carries only id, status and revision", () => {
  const slim = ({ id, revision }: Properties) => ({ id, status: "active", revision });

  /** What the update comes to where its own reply is slim; `spelling` is how the instance shows from then on. */
  async function updatedSlim(getObject: 200 | 405, spelling: (now: Properties) => object = (now) => now) {
    let isSent = false;
    const service = await startService({
      behaviour: { getObject, revision: "body" },
      onRequest: ({ method }) => {
        isSent ||= method === "PUT";
      },
    });
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.behaviour.spelling = (now, place) => {
      if (isSent) return spelling({ ...now });
      return place === "object" && putsOf(service).length > 0 ? slim({ ...now }) : now;
    };
    const outcome = updated(service, saved, { flavor: "m1.large" });
    return { service, saved, outcome };
  }

  test("doesn't remove anything from the state", async () => {
    const { service, saved, outcome } = await updatedSlim(200);
    const { outs } = await outcome;
    expect(outs).toEqual({
      ...saved.state,
      __provider: undefined,
      flavor: "m1.large",
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
  });

  test("doesn't prove that a change was applied", async () => {
    const older = (now: Properties) => ({ ...now, flavor: "m1.small", revision: "an-older-one" });
    const { saved, outcome } = await updatedSlim(405, (now) => ({
      ...older(now),
      revision: saved.state.revision,
    }));
    const error = await failureOf(outcome);
    expect(error.message).toContain("still returns an older revision");
    expect(error).toHaveProperty("properties.revision", saved.state.revision);
  });

  test("doesn't make a normalized value look like somebody else's change", async () => {
    const { service, saved, outcome } = await updatedSlim(200, (now) => ({
      ...now,
      flavor: String(now.flavor).toUpperCase(),
      revision: "of-a-later-status-change",
    }));
    const { outs } = await outcome;
    expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ flavor: "m1.large" });
  });
});

describe("an update whose operation no longer exists", () => {
  test.each([
    { operationKeptMs: 0 },
    { operationKeptPolls: 0 },
    { operationKeptMs: 0, purgedStatus: 410 },
  ] as const)("is checked by reading the instance: %j", async (behaviour) => {
    const { service, web } = await oneInstance();
    await web.up();
    Object.assign(service.emulator.behaviour, { putReply: 202, ...behaviour });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ flavor: "m1.large" });
    expect(web.inState().state).not.toHaveProperty("__pending");
  });

  test("is checked until it is made, because the operation may still be running", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    Object.assign(service.emulator.behaviour, { putReply: 202, operationMs: 300_000 });
    service.emulator.fail({
      method: "GET",
      path: "/v1/operations/",
      kind: "status",
      status: 404,
      times: Number.POSITIVE_INFINITY,
    });
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(web.inState().state).toMatchObject({ flavor: "m1.large" });
  });

  test("is recorded in the state if it isn't made in time", async () => {
    const { service, web } = await oneInstance();
    await web.up();
    Object.assign(service.emulator.behaviour, { putReply: 202, operationKeptMs: 0 });
    service.emulator.failNextOperation({});
    const said = await web.up({ flavor: "m1.large" });
    expect(said).toContain("did not change flavor within");
    expect(said).toContain("Run `pulumi up` again");
    expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
    expect(service.emulator.instances.get(web.inState().id)?.fields.flavor).toBe("m1.large");
  });
});

test("an update that a token without permission gets 404 for doesn't report a deletion, because the instance is shown", async () => {
  const { service, web } = await oneInstance();
  await web.up();
  Object.assign(service.emulator.behaviour, { readOnlyToken: true, forbiddenStatus: 404 });
  const said = await web.up({ flavor: "m1.large" });
  expect(said).toContain("Grant the token permission to change the object");
  expect(said).not.toContain("deleted it");
});

test("SSH keys can be changed at a service that always returns null for them", async () => {
  const spelling = (now: object): object => ({ ...now, ssh_keys: null });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  await web.up({ sshKeys: [SSH_KEY] });
  const sshKeys = [SSH_KEY, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther"];
  expect(await web.up({ sshKeys })).toBeUndefined();
  expect([...service.emulator.instances.values()][0]?.fields).toMatchObject({ ssh_keys: sshKeys });
});

test("SSH keys that the service ignores are an error if it returns null only for empty lists", async () => {
  const { service, web } = await oneInstance({ behaviour: { absentValues: "null" } });
  await web.up({ sshKeys: [] });
  service.emulator.ignoreUpdatesOf("ssh_keys");
  expect(await web.up({ sshKeys: [SSH_KEY] })).toContain("did not change sshKeys");
});

test.each([
  ["0.0.0.0", "ip_address"],
  ["::", "ip_address"],
  ["0.0.0.0", "public_ip"],
])("%s in %s is not an address", async (none, name) => {
  let address = none;
  const spelling = (now: object): object => ({ ...now, public_ip: null, ip_address: null, [name]: address });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  await web.up();
  expect(await web.up({ flavor: "m1.large" })).toBeUndefined();
  const put = service.emulator.requests.findLast(({ method }) => method === "PUT");
  expect(JSON.parse(put?.body ?? "").public_ip ?? null).toBeNull();

  address = "203.0.113.9";
  await web.up({ flavor: "m1.large", publicIp: address });
  address = none;
  await web.refresh();
  expect(web.inState().inputs.publicIp).toBeUndefined();
});
