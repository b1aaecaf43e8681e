import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { existingInstance } from "../service";
import { startRaced } from "./raced-service";

type Labels = Record<string, string>;

/** Forms in which a service may return labels. */
const forms: Record<string, (labels: Labels) => unknown> = {
  "a list of keys and values": (labels) => Object.entries(labels).map(([key, value]) => ({ key, value })),
  "a list of names and values": (labels) => Object.entries(labels).map(([name, value]) => ({ name, value })),
  "a list with capitalized fields": (labels) =>
    Object.entries(labels).map(([Key, Value]) => ({ Key, Value })),
  "a list of key=value": (labels) => Object.entries(labels).map((pair) => pair.join("=")),
  "a list of key:value": (labels) => Object.entries(labels).map((pair) => pair.join(":")),
};

/** An instance with the label `role=web`, at a service that returns labels in this form, to which somebody adds a label. */
async function sharedInstance(form: (labels: Labels) => unknown) {
  const { service, web } = await oneInstance({
    behaviour: { spelling: (now: object) => ({ ...now, labels: form(Object(now).labels) }) },
  });
  expect(await web.up({ labels: { role: "web" } })).toBeUndefined();
  const { id } = web.inState();
  service.emulator.edit(id, { labels: { role: "web", owner: "ops" } });
  await web.refresh();
  return { web, labels: () => service.emulator.instances.get(id)?.fields.labels };
}

describe("an in-place update keeps the labels of others if the service returns labels as", () => {
  test.each(Object.entries(forms))("%s", async (_name, form) => {
    const { web, labels } = await sharedInstance(form);
    expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
    expect(labels()).toEqual({ role: "api", owner: "ops" });
    expect(await web.up({ labels: {} })).toBeUndefined();
    expect(labels()).toEqual({ owner: "ops" });
  });
});

describe("if the service returns a label with an empty value in a list of keys and values", () => {
  const omitted = (key: string): Properties => ({ key });

  async function withEmptyLabel(role: string, emptyPair: (key: string) => Properties) {
    const form = (labels: Labels): unknown =>
      Object.entries(labels).map(([key, value]) => (value === "" ? emptyPair(key) : { key, value }));
    const spelling = (now: object) => ({ ...now, labels: form(Object(now).labels) });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ labels: { role } })).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { role, theirs: "" } });
    await web.refresh();
    return { web, labels: () => service.emulator.instances.get(id)?.fields.labels };
  }

  test.each([
    ["without a value", omitted],
    ["with null", (key: string) => ({ key, value: null })],
  ])("%s, an in-place update keeps the label", async (_form, emptyPair) => {
    const { web, labels } = await withEmptyLabel("web", emptyPair);
    expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
    expect(labels()).toEqual({ role: "api", theirs: "" });
  });

  test("an in-place update is rejected if no label has a value, because the form is ambiguous", async () => {
    const { web, labels } = await withEmptyLabel("", omitted);
    expect(await web.up({ labels: { role: "api" } })).toContain("returned labels in an unknown format");
    expect(labels()).toEqual({ role: "", theirs: "" });
  });
});

test("an in-place update is rejected if the separator of labels in strings is ambiguous", async () => {
  const spelling = (now: object) => ({
    ...now,
    labels: Object.entries(Object(now).labels).map((pair) => pair.join(":")),
  });
  const { service, web } = await oneInstance({ behaviour: { spelling } });
  const labels = { role: "a=b" };
  expect(await web.up({ labels })).toBeUndefined();
  expect(await web.up({ labels, flavor: "m1.large" })).toContain("returned labels in an unknown format");
  expect(service.emulator.instances.get(web.inState().id)?.fields.labels).toEqual(labels);
});

test("an in-place update succeeds if the service returns null for a label", async () => {
  const { web, labels } = await sharedInstance((given) => ({ ...given, old: null }));
  expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
  expect(labels()).toEqual({ role: "api", owner: "ops" });
});

test.each([0, false, "", "n/a", "None", "-"])(
  "an in-place update sends labels if the service returns %j for an instance without labels",
  async (none) => {
    const spelling = (now: object) => ({
      ...now,
      ...(Object.keys(Object(now).labels).length === 0 && { labels: none }),
    });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({})).toBeUndefined();
    expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
    expect(service.emulator.instances.get(web.inState().id)?.fields.labels).toEqual({ role: "api" });
  },
);

describe("if the service returns labels in an unknown form", () => {
  const keysOnly = (labels: Labels): unknown => Object.keys(labels);

  test.each<[string, Properties]>([
    ["sets labels", { labels: { role: "web" } }],
    ["sets no labels", {}],
    ["ignores labels", { labels: { role: "web" }, __ignoreChanges: ["labels"] }],
  ])("an in-place update is rejected, and changes nothing, if the program %s", async (_what, args) => {
    const { web, labels } = await sharedInstance(keysOnly);
    const error = await web.up({ ...args, flavor: "m1.large" });
    expect(error).toContain("returned labels in an unknown format");
    expect(error).toContain("Change the instance in the service");
    expect(labels()).toEqual({ role: "web", owner: "ops" });
  });
});

const inLowerCase = (labels: unknown): Properties =>
  Object.fromEntries(Object.entries(Object(labels)).map(([key, value]) => [key.toLowerCase(), value]));

test("labels whose keys the service shows in lower case are changed and removed", async () => {
  const service = await startRaced({
    behaviour: { spelling: (now) => ({ ...now, labels: inLowerCase(now.labels) }) },
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
        const spelling = (now: object) => ({ ...now, labels: inLowerCase(Object(now).labels) });
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

describe("if the program adds a label whose key differs only in case from somebody else's label", () => {
  test.each<[string, Properties]>([
    ["with the same value", { env: "a", team: "web" }],
    ["with another value", { env: "a", team: "ops" }],
  ])("both labels exist, and removing one keeps the other: %s", async (_what, theirs) => {
    const { service, web } = await oneInstance();
    expect(await web.up({ labels: { env: "a" } })).toBeUndefined();
    const { id } = web.inState();
    const labels = () => service.emulator.instances.get(id)?.fields.labels;
    service.emulator.edit(id, { labels: theirs });
    expect(await web.up({ labels: { env: "a", Team: "web" } })).toBeUndefined();
    expect(labels()).toEqual({ ...theirs, Team: "web" });
    expect(await web.up({ labels: { env: "a" } })).toBeUndefined();
    expect(labels()).toEqual(theirs);
  });

  test("their label is kept if the outcome of the update is unknown and the program is reverted", async () => {
    const { service, web } = await oneInstance();
    expect(await web.up({ labels: { env: "a" } })).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { env: "a", team: "web" } });
    const fault = service.emulator.fail({ method: "PUT", kind: "status", times: Number.POSITIVE_INFINITY });
    const short = { __timeouts: { update: "10s" } };
    expect(await web.up({ ...short, labels: { env: "a", Team: "web" } })).toContain("Run `pulumi up` again");
    fault.off();
    expect(await web.up({ labels: { env: "a" } })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.labels).toEqual({ env: "a", team: "web" });
  });

  test("the update conflicts if the service is known to show keys in lower case", async () => {
    const spelling = (now: object) => ({ ...now, labels: inLowerCase(Object(now).labels) });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ labels: { Env: "a" } })).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { Env: "a", team: "ops" } });
    expect(await web.up({ labels: { Env: "a", Team: "web" } })).toContain(
      "another client changed labels.Team",
    );
  });
});

test("an import at a service that shows keys in lower case requires no update", async () => {
  const { service, web } = await oneInstance();
  const { id } = service.emulator.addInstance({
    project: web.project,
    name: "web",
    labels: { owner: "us" },
  });
  service.emulator.behaviour.spelling = (now) => ({ ...now, labels: inLowerCase(now.labels) });
  expect(await web.up({ labels: { Owner: "us" }, __import: id })).toBeUndefined();
  await web.refresh();
  expect(web.inState().inputs).toMatchObject({ labels: { Owner: "us" } });
});

describe.each([200, 202, 204] as const)("a service that returns labels as booleans, PUT %d", (putReply) => {
  const spelling = (now: Properties) => ({
    ...now,
    labels: Object.fromEntries(
      Object.entries(Object(now.labels)).map(([key, value]) => [
        key,
        value === "web" ? value : value === "true",
      ]),
    ),
  });

  test("accepts a new label, a change of the label, and a change of the flavor", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up({ labels: { role: "web" } })).toBeUndefined();
    for (const spot of ["true", "false"]) {
      const labels = { role: "web", spot };
      expect(await web.up({ labels })).toBeUndefined();
      expect(await web.up({ labels, flavor: `m1.${spot}` })).toBeUndefined();
      await web.refresh();
      expect(web.inState().inputs.labels).toEqual(labels);
      expect(service.emulator.instances.get(web.inState().id)?.fields.labels).toEqual(labels);
    }
  });

  test("keeps unmanaged labels", async () => {
    const { service, web } = await oneInstance({ behaviour: { spelling, putReply } });
    expect(await web.up({ labels: { role: "web" } })).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { role: "web", spot: "true" } });
    expect(await web.up({ labels: { role: "web", critical: "false" } })).toBeUndefined();
    expect(service.emulator.instances.get(id)?.fields.labels).toEqual({
      role: "web",
      spot: "true",
      critical: "false",
    });
  });
});
