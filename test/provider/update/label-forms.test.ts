import { describe, expect, test } from "vitest";
import { oneInstance } from "../one-instance";

type Labels = Record<string, string>;

/** Forms in which a service may return labels. */
const forms: Record<string, (labels: Labels) => unknown> = {
  "a list of keys and values": (labels) => Object.entries(labels).map(([key, value]) => ({ key, value })),
  "a list of names and values": (labels) => Object.entries(labels).map(([name, value]) => ({ name, value })),
  "a list with capitalized fields": (labels) =>
    Object.entries(labels).map(([Key, Value]) => ({ Key, Value })),
  "a list of maps": (labels) => Object.entries(labels).map(([key, value]) => ({ [key]: value })),
  "a list of key=value": (labels) => Object.entries(labels).map((pair) => pair.join("=")),
  "a list of key:value": (labels) => Object.entries(labels).map((pair) => pair.join(":")),
  "a string of key=value": (labels) =>
    Object.entries(labels)
      .map((pair) => pair.join("="))
      .join(", "),
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

describe("if the service omits the empty value of a label in a list of keys and values", () => {
  const omitEmpty = (labels: Labels): unknown =>
    Object.entries(labels).map(([key, value]) => (value === "" ? { key } : { key, value }));

  async function withEmptyLabel(role: string) {
    const spelling = (now: object) => ({ ...now, labels: omitEmpty(Object(now).labels) });
    const { service, web } = await oneInstance({ behaviour: { spelling } });
    expect(await web.up({ labels: { role } })).toBeUndefined();
    const { id } = web.inState();
    service.emulator.edit(id, { labels: { role, theirs: "" } });
    await web.refresh();
    return { web, labels: () => service.emulator.instances.get(id)?.fields.labels };
  }

  test("an in-place update keeps the label", async () => {
    const { web, labels } = await withEmptyLabel("web");
    expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
    expect(labels()).toEqual({ role: "api", theirs: "" });
  });

  test("an in-place update is rejected if no label has a value, because the form is ambiguous", async () => {
    const { web, labels } = await withEmptyLabel("");
    expect(await web.up({ labels: { role: "api" } })).toContain("returned labels in an unknown format");
    expect(labels()).toEqual({ role: "", theirs: "" });
  });
});

test("a label called name is read in a list of maps", async () => {
  const { web, labels } = await sharedInstance((given) =>
    Object.entries({ ...given, name: "mine" }).map(([key, value]) => ({ [key]: value })),
  );
  expect(await web.up({ labels: { role: "api" } })).toBeUndefined();
  expect(labels()).toEqual({ role: "api", owner: "ops", name: "mine" });
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

  test("an in-place update of an instance with labels is rejected, and changes nothing", async () => {
    const { web, labels } = await sharedInstance(keysOnly);
    const error = await web.up({ labels: { role: "web" }, flavor: "m1.large" });
    expect(error).toContain("returned labels in an unknown format");
    expect(error).toContain('Add "labels" to ignoreChanges');
    expect(labels()).toEqual({ role: "web", owner: "ops" });
  });
});
