import { describe, expect, test } from "vitest";
import { existingInstance, failureOf } from "../service";
import { rowsOf } from "./conflict-table-rows";
import { startRaced } from "./raced-service";

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
