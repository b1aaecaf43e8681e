import { describe, expect, test } from "vitest";
import { HostError, InitializationError } from "../../../src/provider/host";
import { SSH_KEY } from "../samples";
import { changed, existingInstance, failureOf, type Service, startService } from "../service";
import { rowsOf } from "./conflict-table-rows";
import { startRaced } from "./raced-service";

const writes = ({ emulator }: Service) =>
  emulator.requests.filter(({ method, status }) => method === "PUT" && status < 300);

describe("somebody else's change is never overwritten", () => {
  test.each([
    ["of the same field", { flavor: "m1.tiny" }],
    ["of another field", { network: "backend" }],
  ])("%s: the update is an error, and no PUT is sent", async (_what, edit) => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, edit);
    const now = structuredClone(service.emulator.instances.get(saved.id)?.fields);
    const error = await failureOf(
      service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
    );
    expect(error.message).toContain("another client changed");
    expect(error.message).toContain("pulumi refresh");
    expect(error).not.toBeInstanceOf(InitializationError);
    expect(service.emulator.instances.get(saved.id)?.fields).toEqual(now);
    expect(service.emulator.requests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  test("after a refresh, the next `up` corrects it", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { flavor: "m1.tiny" });
    const { props } = await service.instances.read(saved.id, saved.state);
    const { outs } = await service.instances.update(saved.id, { ...props }, saved.inputs);
    expect(outs.flavor).toBe("m1.small");
    expect(service.emulator.instances.get(saved.id)?.fields.flavor).toBe("m1.small");
  });
});

test("a conflict with a state whose revision comes from another field requires a refresh without a list", async () => {
  const service = await startService({ behaviour: { revision: "header", extraFields: { version: "2" } } });
  const saved = await existingInstance(service);
  service.emulator.edit(saved.id, { flavor: "m1.tiny" });
  const olds = { ...saved.state, revision: "2", __inHeader: undefined }; // nothing had shown the header yet
  const error = await failureOf(
    service.instances.update(saved.id, olds, changed(saved, { network: "backend" })),
  );
  expect(error.message).toContain("run `pulumi refresh --target <urn>`, then");
  const { props } = await service.instances.read(saved.id, olds);
  expect(props).toMatchObject({ flavor: "m1.tiny", __inHeader: true });
});

describe("a state without a revision, from a time when the service returned none,", () => {
  const without = (state: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(state).filter(([key]) => key !== "revision"));

  test("uses the object's revision if nobody changed a managed property", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "ops" } });
    const { outs } = await service.instances.update(
      saved.id,
      without(saved.state),
      changed(saved, { flavor: "m1.large" }),
    );
    expect(outs.flavor).toBe("m1.large");
    expect(service.emulator.instances.get(saved.id)?.fields.labels).toEqual({ owner: "ops", team: "web" });
  });

  test("allows an update that sets a property for the first time, once a refresh has read the object", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    const news = changed(saved, { publicIp: "auto" });
    service.emulator.edit(saved.id, { public_ip: "203.0.113.77" });
    await failureOf(service.instances.update(saved.id, without(saved.state), news));
    const { props } = await service.instances.read(saved.id, saved.state);
    const { outs } = await service.instances.update(saved.id, without({ ...props }), news);
    expect(outs.publicIp).toBe("auto");
  });

  test("causes an error that names the property if somebody changed one", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { network: "backend" });
    const { message } = await failureOf(
      service.instances.update(saved.id, without(saved.state), changed(saved, { flavor: "m1.large" })),
    );
    expect(message).toContain("another client changed network of instance");
    expect(message).toContain("pulumi refresh");
    expect(writes(service)).toEqual([]);
  });

  test("causes an error that names the setting if the object has no revision", async () => {
    const service = await startService({ behaviour: { revision: "none" } });
    const saved = await existingInstance(service);
    const { message } = await failureOf(
      service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
    );
    expect(message).toContain("cloudinfra:revisionField");
    expect(writes(service)).toEqual([]);
  });
});

describe("an accepted change counts as applied only if the service shows it:", () => {
  test.each([200, 204, 202] as const)("an unchanged property is an error (%d)", async (putReply) => {
    const service = await startService({ behaviour: { putReply } });
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.ignoreUpdatesOf("flavor");
    const news = changed(saved, { flavor: "m1.large", labels: { team: "ops" } });
    const error = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(error.message).toMatch(/^updating instance "web" failed: .* did not change flavor\n/);
    expect(error.message).toContain('replaceOnChanges: ["flavor"]');
    expect(error).toBeInstanceOf(InitializationError);
    // The truth: what was made is in it, what was not is as before.
    expect(error).toMatchObject({
      id: saved.id,
      reasons: [error.message],
      properties: {
        flavor: "m1.small",
        labels: { team: "ops" },
        revision: service.emulator.instances.get(saved.id)?.revision,
      },
    });
    expect(JSON.parse(JSON.stringify(error))).toHaveProperty("properties.network", "default");
  });

  test("a removed argument that the service keeps is an error", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { publicIp: "auto", sshKeys: [SSH_KEY] });
    service.emulator.ignoreUpdatesOf("public_ip");
    service.emulator.ignoreUpdatesOf("ssh_keys");
    const news = changed(saved, { publicIp: undefined, sshKeys: undefined });
    const error = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(error.message).toContain("did not change publicIp, sshKeys");
    expect(error).toHaveProperty("properties.publicIp", "auto");
    expect(error).toHaveProperty("properties.sshKeys", [SSH_KEY]);
  });

  test("the next `up` shows the difference again, and applies it", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.failNextOperation();
    service.emulator.behaviour = { ...service.emulator.behaviour, putReply: 202 };
    const news = changed(saved, { flavor: "m1.large" });
    const error = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(error.message).toContain('ended with status "failed"');
    expect(error).toBeInstanceOf(HostError);
    const { outs } = await service.instances.update(saved.id, saved.state, news);
    expect(outs.flavor).toBe("m1.large");
  });
});

describe("a rejected update", () => {
  test("names the property, and the options for one that can't be changed in place", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.refuseUpdatesOf("ssh_keys");
    const { message } = await failureOf(
      service.instances.update(saved.id, saved.state, changed(saved, { sshKeys: [SSH_KEY] })),
    );
    expect(message).toContain("\n  sshKeys: ssh_keys cannot be changed in place");
    expect(message).toContain('replaceOnChanges: ["sshKeys"]');
    expect(message).toContain('ignoreChanges: ["sshKeys"]');
  });

  test("because of an unchanged property doesn't suggest correcting or replacing it", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    const problem = { errors: [{ pointer: "/project", detail: "unknown field in an update" }] };
    service.emulator.fail({ method: "PUT", kind: "status", status: 422, problem });
    const { message } = await failureOf(
      service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
    );
    expect(message).toContain("project: unknown field in an update");
    expect(message).toContain("the update doesn't change project");
    expect(message).not.toContain("replaceOnChanges");
  });

  test("of an instance that no longer exists says so, and what to do", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.remove(saved.id);
    const { message } = await failureOf(
      service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
    );
    expect(message).toContain(`instance ${saved.id} no longer exists`);
    expect(message).toContain("pulumi refresh");
  });
});

describe("an update is resent with the current revision if only unmanaged fields changed:", () => {
  test.each([
    ["a status", { status: "stopped" }],
    ["a label of others", { labels: { team: "web", owner: "ops" } }],
    ["a field that the program does not set", { public_ip: "203.0.113.99", ssh_keys: ["ssh-rsa THEIRS"] }],
    ["a further property", { backup: "daily" }],
  ])("%s changed before", async (_what, edit) => {
    const service = await startRaced();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.edit(saved.id, edit);
    const theirs = service.fieldsOf(saved);
    const { outs } = await service.updated(saved, { flavor: "m1.large", labels: { team: "ops" } });
    expect(service.puts()).toEqual([200]);
    expect(service.fieldsOf(saved)).toEqual({
      ...theirs,
      flavor: "m1.large",
      labels: { ...(theirs.labels ?? {}), team: "ops" },
    });
    expect(outs).toMatchObject({
      flavor: "m1.large",
      labels: { team: "ops" },
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
    expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ flavor: "m1.large" });
  });

  test("a property in ignoreChanges changed before, and is kept", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service, { labels: { team: "web", tier: "a" } });
    const __ignoreChanges = ["flavor", "labels.tier"];
    service.emulator.edit(saved.id, { flavor: "autoscaled", labels: { team: "web", tier: "b" } });
    await service.instances.check(saved.inputs, { ...saved.inputs, __ignoreChanges });
    const labels = { team: "ops", tier: "a" };
    const { outs } = await service.updated(saved, { labels });
    service.emulator.edit(saved.id, { flavor: "autoscaled again" });
    await service.updated(saved, { name: "front", labels }, outs);
    expect(service.fieldsOf(saved)).toMatchObject({
      name: "front",
      flavor: "autoscaled again",
      labels: { team: "ops", tier: "b" },
    });
  });

  test.each([
    ["header", 200],
    ["body", 200],
    ["both", 405],
    ["weak", 200],
    ["weak", 404],
  ] as const)(
    "a label changed between the read and the PUT (revision: %s, GET: %d)",
    async (revision, getObject) => {
      const service = await startRaced({ behaviour: { revision, getObject } });
      const saved = await existingInstance(service);
      service.after("GET", () => service.emulator.edit(saved.id, { labels: { owner: "ops" } }));
      await service.updated(saved, { flavor: "m1.large" });
      expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", labels: { owner: "ops" } });
    },
  );

  test.each([1, 2, 3])("several times if it changes again (%d times)", async (times) => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    const label = (n: number) => () => {
      const labels = { ...Object(service.fieldsOf(saved).labels), [`n${n}`]: "theirs" };
      service.emulator.edit(saved.id, { labels });
      if (n < times) service.after("GET", label(n + 1));
    };
    service.after("GET", label(1));
    await service.updated(saved, { flavor: "m1.large" });
    expect(service.puts()).toEqual([...Array(times).fill(412), 200]);
    expect(Object.keys(Object(service.fieldsOf(saved).labels))).toHaveLength(times);
  });

  test("only a few times, and then the error says that nothing was overwritten", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    const touch = (): void => {
      service.emulator.touch(saved.id);
      service.after("GET", touch);
    };
    service.after("GET", touch);
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(service.puts()).toEqual([412, 412, 412, 412]);
    expect(message).toContain(" 4 times, although no managed property has changed");
    expect(message).toContain(
      "Run `pulumi up` again later: another client keeps changing the object. Nothing was overwritten",
    );
  });

  test("only until its deadline", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service, { __timeouts: { update: "400ms" } });
    service.emulator.fail({ method: "PUT", kind: "status", status: 412, times: Number.POSITIVE_INFINITY });
    const began = service.clock.now();
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(service.clock.now() - began).toBeLessThanOrEqual(400);
    expect(message).toContain(", although no managed property has changed");
  });

  test("but not if the service rejects the revision that it shows", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "status", status: 412, times: Number.POSITIVE_INFINITY });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(service.puts()).toEqual([412]);
    expect(message).toContain(`revision ${saved.state.revision} of instance`);
    expect(message).toContain("cloudinfra:revisionField");
  });
});

test("a rejected update isn't recorded as possibly applied if the next read fails", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service);
  service.after("GET", () => service.emulator.edit(saved.id, { labels: { theirs: "x" } }));
  service.after("PUT", () =>
    service.emulator.fail({ method: "GET", kind: "status", status: 503, times: Number.POSITIVE_INFINITY }),
  );
  const error = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(service.puts()).toEqual([412]);
  expect(error.message).toContain("code unavailable");
  expect(error.message).not.toContain("may have applied");
  expect(error).not.toHaveProperty("properties");
});

test("an object that no longer shows a revision is not updated, and the error names the setting", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service);
  service.emulator.edit(saved.id, { status: "stopped" });
  service.emulator.behaviour.revision = "none";
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(message).toContain("has no revision");
  expect(message).toContain("cloudinfra:revisionField");
  expect(service.puts()).toEqual([]);
});

describe("an instance that somebody deleted", () => {
  test.each([
    ["before the look", undefined],
    ["between look and PUT", "GET"],
  ])("%s causes an error that says so", async (_when, moment) => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    const remove = (): void => service.emulator.remove(saved.id);
    if (moment === undefined) remove();
    else service.after(moment, remove);
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(message).toContain(`instance ${saved.id} no longer exists`);
    expect(message).toContain("Run `pulumi refresh` to remove the missing object from the state");
  });

  test("causes the same error after a 412", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.after("GET", () => service.emulator.edit(saved.id, { flavor: "m1.tiny" }));
    service.after("PUT", () => service.emulator.remove(saved.id));
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(service.puts()).toEqual([412]);
    expect(message).toContain(`instance ${saved.id} no longer exists`);
    expect(rowsOf(message)).toEqual([]);
  });
});

describe("a property that is neither an argument nor an output", () => {
  test.each([undefined, null, ""])("causes a warning if it is %j after the update", async (description) => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { description: "the shop", rack: "b7" });
    service.after("PUT", () => service.emulator.edit(saved.id, { description }));
    await service.updated(saved, { flavor: "m1.large" });
    expect(service.warnings).toEqual([
      expect.stringContaining(`instance ${saved.id} had description before an update, but not after`),
    ]);
  });

  test("causes a warning without control characters from its name", async () => {
    const service = await startRaced({
      behaviour: { extraFields: { "rack\u001b]0;owned\u0007\u001b[2J\n": "b7" } },
    });
    const saved = await existingInstance(service);
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = {};
    });
    await service.updated(saved, { flavor: "m1.large" });
    expect(service.warnings).toEqual([expect.stringContaining(`${saved.id} had rack before an update`)]);
  });

  test("causes no warning if only a list omits it", async () => {
    const service = await startRaced({ behaviour: { itemsWithout: ["description"] } });
    const saved = await existingInstance(service);
    service.emulator.edit(saved.id, { description: "the shop" });
    service.after("PUT", () => {
      service.emulator.behaviour.getObject = 405;
    });
    await service.updated(saved, { flavor: "m1.large" });
    expect(service.warnings).toEqual([]);
  });
});
