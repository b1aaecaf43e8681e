import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { existingInstance } from "../service";
import { startRaced } from "./raced-service";

const inSmallLetters = (labels: unknown): Properties =>
  Object.fromEntries(Object.entries(Object(labels)).map(([key, value]) => [key.toLowerCase(), value]));

test("labels whose keys the service shows in lower case are changed and removed", async () => {
  const service = await startRaced({
    behaviour: { spelling: (now) => ({ ...now, labels: inSmallLetters(now.labels) }) },
  });
  const saved = await existingInstance(service, { labels: { Team: "web" } });
  const { outs } = await service.updated(saved, { labels: { Team: "api" } });
  expect(outs).toMatchObject({ labels: { Team: "api" } });
  expect("__words" in outs).toBe(false);
  expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ labels: { Team: "api" } });
  await service.updated(saved, { labels: {} }, outs);
  expect(service.fieldsOf(saved).labels).toEqual({});
});

test("labels in lower case that an older version didn't recognize are not a conflict", async () => {
  const service = await startRaced();
  const saved = await existingInstance(service, { labels: { Team: "web" } });
  service.emulator.edit(saved.id, { labels: { team: "web" } });
  const state = { ...saved.state, __words: { labels: {} }, __keepsCase: undefined };
  await service.updated(saved, { labels: { Team: "api" } }, state);
  expect(service.fieldsOf(saved).labels).toEqual({ Team: "api" });
});

describe("a label key that only changes its case", () => {
  const renames: [Properties, Properties][] = [
    [{ tier: "a" }, { Tier: "a" }],
    [{ Tier: "a" }, { tier: "a" }],
    [{ TIER: "a" }, { Tier: "a" }],
    [{ tier: "a" }, { Tier: "b" }],
    [
      { TIER: "a", team: "web" },
      { Tier: "b", team: "web" },
    ],
  ];

  describe.each([200, 204, 202] as const)("in a PUT with the reply %d", (putReply) => {
    test.each(renames)(
      "converges at a service that shows keys in lower case: %j → %j",
      async (first, labels) => {
        const spelling = (now: object) => ({ ...now, labels: inSmallLetters(Object(now).labels) });
        const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
        expect(await web.up({ labels: first })).toBeUndefined();
        expect(await web.up({ labels })).toBeUndefined();
        await web.refresh();
        service.emulator.clearRequests();
        expect(await web.up({ labels })).toBeUndefined();
        expect(service.emulator.requests).toEqual([]);
        expect(service.emulator.instances.get(web.inState().id)?.fields.labels).toEqual(labels);
      },
    );
  });

  test("is an error if a service that keeps the case ignores it", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { Team: "web", tier: "a" } });
    service.emulator.ignoreUpdatesOf("labels");
    expect(await web.up({ labels: { Team: "web", Tier: "a" } })).toContain("did not change labels");
  });

  test("is a conflict if somebody else has changed its value", async () => {
    const { service, web } = await oneInstance();
    await web.up({ labels: { tier: "a" } });
    service.emulator.edit(web.inState().id, { labels: { tier: "theirs" } });
    expect(await web.up({ labels: { Tier: "a" } })).toContain("another client changed labels.tier");
  });
});

describe("somebody else's label whose key differs from the program's only in case", () => {
  const labels = { Owner: "us" };
  const theirs = { labels: { owner: "them" } };

  test("is kept by an import", async () => {
    const { service, web } = await oneInstance();
    const { id } = service.emulator.addInstance({ project: web.project, name: "web", ...theirs });
    expect(await web.up({ labels, __import: id })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.labels).toEqual({ owner: "them", Owner: "us" });
  });

  test.each(["after a refresh", "without one"])(
    "is kept if somebody removes the program's label: %s",
    async (when) => {
      const { service, web } = await oneInstance();
      await web.up({ labels });
      const { id } = web.inState();
      service.emulator.edit(id, theirs);
      if (when === "after a refresh") {
        await web.refresh();
        expect(web.inState().inputs.labels).toEqual({});
        expect(await web.up({ labels })).toBeUndefined();
        expect(service.emulator.instances.get(id)?.fields.labels).toEqual({ owner: "them", Owner: "us" });
      } else {
        expect(await web.up({ labels: {} })).toBeUndefined();
        expect(service.emulator.instances.get(id)?.fields).toMatchObject(theirs);
      }
    },
  );
});

test("an import at a service that shows keys in lower case requires no update", async () => {
  const { service, web } = await oneInstance();
  const { id } = service.emulator.addInstance({
    project: web.project,
    name: "web",
    labels: { owner: "us" },
  });
  service.emulator.behaviour.spelling = (now) => ({ ...now, labels: inSmallLetters(now.labels) });
  expect(await web.up({ labels: { Owner: "us" }, __import: id })).toBeUndefined();
  await web.refresh();
  expect(web.inState().inputs).toMatchObject({ labels: { Owner: "us" } });
});
