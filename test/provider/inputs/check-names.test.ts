import { describe, expect, test } from "vitest";
import { check } from "../../../src/provider/check";
import { diff } from "../../../src/provider/diff";
import type { Properties } from "../../../src/provider/host";
import { instanceKind, projectKind } from "../../../src/provider/kind";
import { projectFields } from "../../../src/provider/values/fields";
import { plain } from "../../../src/provider/values/plain";
import { instanceNews, KEY, OTHER_KEY, projectNews, UNKNOWN_TEXT } from "../samples";
import { startService } from "../service";

/** As the host gets it: without anything undefined. */
const checked = (olds: Properties, news: Properties): Properties =>
  plain(check(instanceKind, olds, news).inputs);
const unnamed = (key: string): Properties => instanceNews({ name: undefined, __key: key });

describe("the idempotency key", () => {
  test("of the first creation is kept, though the program passes a fresh one at every run", () => {
    const first = checked({}, instanceNews({ __key: KEY }));
    expect(first.__key).toBe(KEY);
    expect(checked(first, instanceNews({ __key: OTHER_KEY })).__key).toBe(KEY);
  });

  test("is kept in a preview, where the program passes none", () => {
    expect(checked(instanceNews(), instanceNews({ __key: UNKNOWN_TEXT })).__key).toBe(KEY);
  });

  test("is a new one for a replacement, which is checked without old inputs", () => {
    expect(checked({}, instanceNews({ __key: OTHER_KEY })).__key).toBe(OTHER_KEY);
  });

  test("is the program's where an older state has none", () => {
    const { __key, ...older } = instanceNews();
    expect(__key).toBe(KEY);
    expect(checked(older, instanceNews({ __key: OTHER_KEY })).__key).toBe(OTHER_KEY);
  });
});

describe("a name that the program does not give", () => {
  test("is the resource's name and seven digits of the key", () => {
    expect(checked({}, unnamed(KEY))).toMatchObject({ name: "web-3f8a2c1" });
    const { inputs } = check(projectKind, {}, { ...projectNews(), name: undefined });
    expect(inputs.name).toBe("shop-3f8a2c1");
  });

  test("is unknown in a preview, for `up` will make another key", () => {
    expect(checked({}, unnamed(UNKNOWN_TEXT)).name).toBe(UNKNOWN_TEXT);
  });

  test("is kept from then on, in previews too", () => {
    const first = checked({}, unnamed(KEY));
    expect(checked(first, unnamed(OTHER_KEY))).toEqual(first);
    expect(checked(first, unnamed(UNKNOWN_TEXT))).toEqual(first);
  });

  test("is kept when the resource gets another name by an alias", () => {
    const first = checked({}, unnamed(KEY));
    const renamed = { ...unnamed(OTHER_KEY), __urn: "urn:pulumi:dev::app::x:y:Instance::front" };
    expect(checked(first, renamed).name).toBe("web-3f8a2c1");
  });

  test("is kept also where somebody has changed it since, and a refresh has shown that: nobody asked for another", () => {
    const { inputs: first } = check(projectKind, {}, { ...projectNews(), name: undefined });
    const refreshed = { ...plain(first), name: "Production" };
    const { inputs } = check(projectKind, refreshed, {
      ...projectNews({ __key: OTHER_KEY }),
      name: undefined,
    });
    expect(inputs.name).toBe("Production");
    expect(diff(projectFields, refreshed, plain(inputs)).changes).toBe(false);
  });

  test("is a new one for a replacement, so that both can exist for a while", () => {
    expect(checked({}, unnamed(OTHER_KEY)).name).toBe("web-9b1d4c7");
  });

  test("falls back on the kind of object where an older program does not tell the resource's name", () => {
    expect(checked({}, { ...unnamed(KEY), __urn: UNKNOWN_TEXT }).name).toBe("instance-3f8a2c1");
    const { __urn, ...nameless } = unnamed(KEY);
    expect(__urn).toBeTypeOf("string");
    expect(checked({}, nameless).name).toBe("instance-3f8a2c1");
  });

  test("is the last part of the URN, whatever types stand before it", () => {
    const nested = "urn:pulumi:dev::app::my:component:Fleet$pulumi-nodejs:dynamic/cloudinfra:Instance::db";
    expect(checked({}, { ...unnamed(KEY), __urn: nested }).name).toBe("db-3f8a2c1");
  });
});

describe("given, taken back, given again", () => {
  test("each step says what it is, and the key never moves", () => {
    const given = checked({}, instanceNews({ name: "front" }));
    const taken = checked(given, unnamed(OTHER_KEY));
    const again = checked(taken, instanceNews({ name: "front", __key: OTHER_KEY }));
    expect([given, taken, again].map(({ name }) => name)).toEqual(["front", "web-3f8a2c1", "front"]);
    expect([given, taken, again].map(({ __key }) => __key)).toEqual([KEY, KEY, KEY]);
  });

  test("a name given in place of a made-up one counts", () => {
    expect(checked(checked({}, unnamed(KEY)), instanceNews({ name: "front" })).name).toBe("front");
  });

  test("one that is unknown in a preview counts as given", () => {
    const inputs = checked({}, instanceNews({ name: UNKNOWN_TEXT }));
    expect(inputs.name).toBe(UNKNOWN_TEXT);
  });
});

test("a given name that looks like a made-up one is given: its object is deleted before another takes its name", async () => {
  const service = await startService();
  const project = service.emulator.addProject().id;
  const { inputs } = await service.instances.check({}, { ...unnamed(KEY), project });
  const { id, outs } = await service.instances.create(plain(inputs));
  const pinned = instanceNews({ project, name: inputs.name, image: "debian-14" });
  const { inputs: next } = await service.instances.check(plain(inputs), pinned);
  expect(await service.instances.diff(id, outs, plain(next))).toMatchObject({
    replaces: ["image"],
    deleteBeforeReplace: true,
  });
});
