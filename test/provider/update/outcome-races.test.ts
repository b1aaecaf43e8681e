import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { changed, existingInstance, failureOf, type Saved, startService } from "../service";
import { rowsOf } from "./conflict-table-rows";
import { startRaced } from "./raced-service";

/** What the table shows of a value. */
const theirs = (value: unknown): unknown =>
  typeof value === "string" ? value : Object.values(Object(value))[0];

describe("somebody else's change right after an update", () => {
  test.each<[string, Properties, Properties]>([
    ["to another property", { network: "theirs" }, { network: "theirs" }],
    ["to what it just set", { flavor: "theirs" }, { flavor: "theirs" }],
    ["to the address that it just set", { public_ip: "198.51.100.1" }, { publicIp: "198.51.100.1" }],
    ["to a label that it just set", { labels: { team: "theirs" } }, { labels: { team: "theirs" } }],
  ])("%s is not confused with the update", async (_what, edit, shown) => {
    const more = { flavor: "m1.large", publicIp: "auto", labels: { team: "ops" } };
    for (const putReply of [200, 204] as const) {
      const service = await startRaced({ behaviour: { putReply } });
      const saved = await existingInstance(service, { labels: { team: "web" } });
      service.after("PUT", () => service.emulator.edit(saved.id, edit));
      const { outs } = await service.updated(saved, more);
      expect(outs).toMatchObject(more);
      // The next update without a refresh is refused, and a refresh shows it.
      const { message } = await failureOf(service.updated(saved, { ...more, name: "front" }, outs));
      expect(rowsOf(message).flat()).toContain(Object.values(shown).map(theirs)[0]);
      expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject(shown);
    }
  });

  test("of the address, at a service that returns no body, doesn't count as assigned by the update", async () => {
    const service = await startRaced({ behaviour: { putReply: 204 } });
    const saved = await existingInstance(service, { publicIp: "auto" });
    service.after("PUT", () => service.emulator.edit(saved.id, { public_ip: "198.51.100.1" }));
    const { outs } = await service.updated(saved, { publicIp: "auto", flavor: "m1.large" });
    expect(outs.ipAddress).toBe("198.51.100.1");
    expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ publicIp: "198.51.100.1" });
  });

  test("of an unmanaged field has no effect", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.after("PUT", () => service.emulator.edit(saved.id, { labels: { owner: "ops" } }));
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
    await service.updated(saved, { flavor: "m1.huge" }, outs);
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.huge", labels: { owner: "ops" } });
  });
});

test("somebody else's change after a retried update is drift, although the revision has increased by one", async () => {
  let isEdited = false;
  const service = await startService({
    behaviour: { putReply: 202, operationMs: 10 },
    onRequest: ({ path }) => {
      const isRunning = [...service.emulator.operations.values()].some(({ outcome }) => outcome === "open");
      if (!path.startsWith("/v1/operations/") || isRunning || isEdited || saved === undefined) return;
      isEdited = true;
      service.emulator.edit(saved.id, { labels: { team: "theirs" } });
    },
  });
  let saved: Saved | undefined;
  const made = await existingInstance(service, { publicIp: "203.0.113.5", labels: { team: "web" } });
  saved = made;
  service.emulator.fail({ method: "PUT", kind: "truncate" });
  const news = changed(made, { publicIp: "auto", labels: { team: "ops" } });
  const { outs } = await service.instances.update(made.id, made.state, news);
  expect(isEdited).toBe(true);
  expect((await service.instances.read(made.id, outs)).inputs).toMatchObject({ labels: { team: "theirs" } });
});

describe("a normalized value", () => {
  test("is learned from the reply, and from a later read of the same revision", async () => {
    const service = await startRaced();
    const saved = await existingInstance(service);
    service.after("GET", () => {
      service.emulator.behaviour.extraFields = { flavor: "flv-2" };
    });
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({ flavor: "m1.large", __words: { flavor: "flv-2" } });
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = { flavor: "flv-2", network: "net-2" };
    });
    const next = await service.updated(saved, { flavor: "m1.large", network: "backend" }, outs);
    expect(next.outs).toMatchObject({ network: "backend", __words: { flavor: "flv-2", network: "net-2" } });
  });

  test("is recognized at a service that returns no body if only the case differs", async () => {
    const service = await startRaced({ behaviour: { putReply: 204 } });
    const saved = await existingInstance(service);
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = { flavor: "m1.large" };
    });
    const { outs } = await service.updated(saved, { flavor: "M1.Large" });
    expect(outs).toMatchObject({ flavor: "M1.Large", __words: { flavor: "m1.large" } });
  });
});

describe("a list that lags behind an update", () => {
  test("is ignored if the reply to the update shows more", async () => {
    const service = await startRaced({ behaviour: { getObject: 405 } });
    const saved = await existingInstance(service);
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = { flavor: "m1.small", revision: saved.state.revision };
    });
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(outs).toMatchObject({
      flavor: "m1.large",
      revision: service.emulator.instances.get(saved.id)?.revision,
    });
    expect("__words" in outs).toBe(false);
    // The next update starts from what was learnt, though the list still does not show it.
    service.emulator.behaviour.extraFields = {};
    await service.updated(saved, { flavor: "m1.huge" }, outs);
    expect(service.puts()).toEqual([200, 200]);
  });

  test("doesn't make a change count as applied", async () => {
    const service = await startRaced({ behaviour: { getObject: 405 } });
    const saved = await existingInstance(service, { labels: { team: "web" } });
    service.emulator.ignoreUpdatesOf("flavor");
    const news = { flavor: "m1.large", labels: { team: "ops" } };
    const { message } = await failureOf(service.updated(saved, news));
    expect(message).toContain("did not change flavor");
  });
});

test("a revision that only the reply to the update has is kept", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service);
  service.after("PUT", () => {
    service.emulator.behaviour.revision = "none";
  });
  const { outs } = await service.updated(saved, { flavor: "m1.large" });
  expect(outs.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
});

test("a change that was applied to only some of the labels counts as not applied", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { labels: { team: "web", tier: "a" } });
  service.after("PUT", () => {
    service.emulator.behaviour.extraFields = { labels: { team: "ops", tier: "a" } };
  });
  const error = await failureOf(service.updated(saved, { labels: { team: "ops", tier: "b" } }));
  expect(error.message).toContain("did not change labels");
  expect(error).toHaveProperty("properties.labels", { team: "web", tier: "a" });
});

describe("a list that shows an older revision than the state's", () => {
  /** An instance to which somebody else has added a label, as a refresh has seen it; the list shows it without the label again. */
  async function laggingBehindTheState({ forMs }: { forMs: number }) {
    const service = await startRaced({ behaviour: { getObject: 405 } });
    const saved = await existingInstance(service);
    const { revision } = saved.state;
    service.emulator.edit(saved.id, { labels: { owner: "ops" } });
    const { props } = await service.instances.read(saved.id, saved.state);
    const lag = async (older: Properties = {}): Promise<void> => {
      await service.clock.advance(31_000);
      const end = service.clock.now() + forMs;
      service.emulator.behaviour.spelling = (now) =>
        service.clock.now() < end ? { ...now, labels: {}, revision, ...older } : now;
    };
    return { service, saved, state: { ...props }, lag };
  }

  test.each([1_000, 20_000])(
    "is never the base of an update, so that later additions are kept: for %i ms",
    async (forMs) => {
      const { service, saved, state, lag } = await laggingBehindTheState({ forMs });
      await lag();
      const { outs } = await service.updated(saved, { flavor: "m1.large" }, state);
      expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", labels: { owner: "ops" } });
      expect(outs.revision).toBe(service.emulator.instances.get(saved.id)?.revision);
    },
  );

  test("causes an error if it never catches up, and nothing is overwritten", async () => {
    const { service, saved, state, lag } = await laggingBehindTheState({ forMs: 3_600_000 });
    await lag();
    const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }, state));
    expect(message).toContain("Nothing was overwritten");
    expect(message).toContain("the service may have returned an outdated revision");
    expect(service.puts()).toEqual([412]);
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.small", labels: { owner: "ops" } });
  });

  test("doesn't prove that a change has already been made", async () => {
    const { service, saved, state, lag } = await laggingBehindTheState({ forMs: 1_000 });
    const { outs } = await service.updated(saved, { flavor: "m1.large" }, state);
    await lag({ flavor: "m1.small" });
    await service.updated(saved, { flavor: "m1.small" }, outs);
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.small", labels: { owner: "ops" } });
  });

  test("doesn't prove that somebody else has changed something", async () => {
    const { service, saved, state, lag } = await laggingBehindTheState({ forMs: 1_000 });
    const { outs } = await service.updated(saved, { network: "backend" }, state);
    await lag({ network: "default" });
    const news = { network: "backend", flavor: "m1.large" };
    expect((await service.updated(saved, news, outs)).outs).toMatchObject(news);
  });
});

test("an update is never sent with the state's revision if the list shows none", async () => {
  const service = await startRaced({ behaviour: { getObject: 405 } });
  const saved = await existingInstance(service);
  service.emulator.behaviour.spelling = (now) => ({ ...now, revision: undefined });
  const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
  expect(message).toContain("cloudinfra:revisionField");
  expect(service.puts()).toEqual([]);
});
