import { describe, expect, test } from "vitest";
import { existingInstance, failureOf } from "../service";
import { rowsOf } from "./conflict-table-rows";
import { startRaced } from "./raced-service";

const ARGS = { labels: { team: "web" } };

describe("an applied update whose reply was lost and whose retry was rejected", () => {
  test.each(["header", "body", "both", "weak"] as const)("succeeds (revision: %s)", async (revision) => {
    const service = await startRaced({ behaviour: { revision } });
    const saved = await existingInstance(service, ARGS);
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(service.puts()).toEqual([0, 412]);
    expect(outs).toMatchObject({
      flavor: "m1.large",
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
    expect(service.fieldsOf(saved).flavor).toBe("m1.large");
    const { props } = await service.instances.read(saved.id, outs);
    expect(props).toEqual(outs);
  });

  test("succeeds if the service normalizes another value", async () => {
    const service = await startRaced({ behaviour: { ipField: "public_ip" } });
    const saved = await existingInstance(service, { publicIp: "auto" });
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({ flavor: "m1.large", publicIp: "auto", __words: saved.state.__words });
  });

  test('succeeds if the service normalizes the new value: an address for "auto"', async () => {
    const service = await startRaced({ behaviour: { ipField: "public_ip" } });
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    const { outs } = await service.updated(saved, { publicIp: "auto" });
    expect(outs).toMatchObject({ publicIp: "auto", __words: { publicIp: outs.ipAddress } });
    expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ publicIp: "auto" });
  });

  test("is a conflict if a different value may be normalized or somebody else's", async () => {
    const service = await startRaced({ behaviour: { extraFields: { flavor: "flv-1" } } });
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = { flavor: "flv-2" };
    });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(message).toContain(
      "a reply to this update was lost, and either this update or another client changed flavor of instance",
    );
    expect(rowsOf(message)).toEqual([["flavor", "m1.small (flv-1)", "flv-2", "m1.large"]]);
    expect(service.puts()).toEqual([0, 412]);
  });

  test("succeeds after a kill if the service shows all values in capital letters", async () => {
    const service = await startRaced({ behaviour: { normalize: ["upper-case"] } });
    const saved = await existingInstance(service);
    await service.updated(saved, { flavor: "m1.large" });
    const { outs } = await service.updated(saved, { flavor: "m1.large" }); // the state doesn't know of the first one
    expect(outs).toMatchObject({ flavor: "m1.large", __words: { flavor: "M1.LARGE" } });
    expect(service.puts()).toEqual([200, 200]);
  });

  test("is a conflict if the service shows a value that nobody requested", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "reset" });
    service.after("PUT", () => service.emulator.edit(saved.id, { flavor: "m1.tiny" }));
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(rowsOf(message)).toEqual([["flavor", "m1.small", "m1.tiny", "m1.large"]]);
    expect(service.fieldsOf(saved).flavor).toBe("m1.tiny");
  });

  test.each([
    ["was there before it", "now", "lost-reply"],
    ["came before it was refused for certain", "look", undefined],
  ] as const)("is a conflict if a normalized value %s", async (_when, moment, fault) => {
    const service = await startRaced({ behaviour: { extraFields: { flavor: "flv-1" } } });
    const saved = await existingInstance(service);
    const edit = (): void => {
      service.emulator.behaviour.extraFields = { flavor: "flv-2" };
      service.emulator.touch(saved.id);
    };
    if (moment === "now") edit();
    else service.after("GET", edit);
    if (fault) service.emulator.fail({ method: "PUT", kind: fault });
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(rowsOf(message)).toEqual([["flavor", "m1.small (flv-1)", "flv-2", "m1.large"]]);
  });

  test("is a conflict if the service shows another address", async () => {
    const service = await startRaced({ behaviour: { ipField: "public_ip" } });
    const saved = await existingInstance(service, { publicIp: "auto" });
    service.emulator.fail({ method: "PUT", kind: "reset" });
    service.after("PUT", () => service.emulator.edit(saved.id, { public_ip: "198.51.100.1" }));
    const { message } = await failureOf(service.updated(saved, { publicIp: "203.0.113.50" }));
    expect(rowsOf(message)[0]).toContain("198.51.100.1");
  });

  test("is a conflict if the read doesn't show the new value", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "reset" });
    service.after("PUT", () => service.emulator.touch(saved.id));
    service.emulator.behaviour.extraFields = { flavor: undefined };
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(message).toContain("the service doesn't return flavor");
    expect(rowsOf(message)).toEqual([["flavor", "m1.small", "(not returned)", "m1.large"]]);
    expect(service.puts()).toEqual([0, 412]);
  });

  test.each([
    ["flavor", { flavor: "m1.tiny" }, ["flavor", "m1.small", "m1.tiny", "m1.large"]],
    ["label", { labels: { team: "theirs" } }, ["labels.team", "web", "theirs", "ops"]],
    ["address", { public_ip: "198.51.100.1" }, ["publicIp", "203.0.113.5", "198.51.100.1", "auto"]],
  ])("is a conflict if somebody has changed the new %s since", async (_what, edit, row) => {
    const service = await startRaced();
    const saved = await existingInstance(service, { ...ARGS, publicIp: "203.0.113.5" });
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    service.after("PUT", () => service.emulator.edit(saved.id, edit));
    const news = { flavor: "m1.large", labels: { team: "ops" }, publicIp: "auto" };
    const { message } = await failureOf(service.updated(saved, news));
    expect(rowsOf(message)).toContainEqual(row);
    expect(service.fieldsOf(saved)).toMatchObject(edit);
  });

  test("is a conflict that shows the change if somebody has changed another property since", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    service.after("PUT", () => service.emulator.edit(saved.id, { network: "backend" }));
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
    expect(rowsOf(message)).toEqual([
      ["flavor", "m1.small", "m1.large", "m1.large"],
      ["network", "default", "backend", "default"],
    ]);
    expect(service.fieldsOf(saved)).toMatchObject({ network: "backend" });
  });

  test("succeeds if only a list that lags behind shows it", async () => {
    const service = await startRaced({ behaviour: { getObject: 405 } });
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "PUT", kind: "lost-reply" });
    const now = service.emulator.instances.get(saved.id);
    service.after("PUT", () => {
      const { revision } = saved.state;
      service.emulator.behaviour.extraFields = { revision, flavor: "m1.small" };
      service.after("PUT", () =>
        service.after("GET", () => {
          service.emulator.behaviour.extraFields = {};
        }),
      );
    });
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({ flavor: "m1.large", revision: now?.revision });
    expect(service.puts()).toEqual([0, 412]);
  });
});

describe("a desired value that somebody else has already set", () => {
  test("is not a conflict, and is sent again, because the object may be older than the state", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service, ARGS);
    service.emulator.edit(saved.id, { flavor: "m1.large", labels: { team: "ops", owner: "x" } });
    const { outs } = await service.updated(saved, { flavor: "m1.large", labels: { team: "ops" } });
    expect(service.puts()).toEqual([200]);
    expect(outs).toMatchObject({ flavor: "m1.large", labels: { team: "ops" } });
    expect(service.fieldsOf(saved).labels).toEqual({ team: "ops", owner: "x" });
  });

  test("doesn't prevent the update of other properties", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service, { labels: { team: "web", tier: "a" } });
    service.emulator.edit(saved.id, { flavor: "m1.large", labels: { team: "ops", tier: "a" } });
    const labels = { team: "ops", tier: "b" };
    const { outs } = await service.updated(saved, { flavor: "m1.large", labels });
    expect(service.puts()).toEqual([200]);
    expect(outs).toMatchObject({ flavor: "m1.large", labels });
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", labels });
  });
});
