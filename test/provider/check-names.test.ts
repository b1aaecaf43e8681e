// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import { describe, expect, test } from "vitest";
import { instanceKind, projectFields, projectKind } from "../../src/model/resource-fields";
import { type Properties, toPlainJson } from "../../src/model/state";
import { instanceNews, KEY, OTHER_KEY, projectNews, UNKNOWN_TEXT } from "./samples";
import { startService } from "./service";
import { check, diff } from "./typed";

/** As the host gets it: without anything undefined. */
const checked = (olds: Properties, news: Properties): Properties =>
  toPlainJson(check(instanceKind, olds, news).inputs);
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
    const refreshed = { ...toPlainJson(first), name: "Production" };
    const { inputs } = check(projectKind, refreshed, {
      ...projectNews({ __key: OTHER_KEY }),
      name: undefined,
    });
    expect(inputs.name).toBe("Production");
    expect(diff(projectFields, refreshed, toPlainJson(inputs)).changes).toBe(false);
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

describe("the setting pulumi:autonaming", () => {
  const named = (naming: unknown, more: Properties = {}): Properties => ({
    ...unnamed(KEY),
    __autonaming: naming,
    ...more,
  });
  const nameOf = (naming: unknown, more: Properties = {}): unknown => checked({}, named(naming, more)).name;

  test.each([
    ["${name}", /^web$/],
    ["${name}-${hex(4)}", /^web-[0-9a-f]{4}$/],
    ["x_${alphanum(12)}", /^x_[a-z0-9]{12}$/],
    ["${string(9)}.${num(3)}", /^[a-z]{9}\.[0-9]{3}$/],
    ["${uuid}", /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/],
    ["${hex(100)}", /^[0-9a-f]{100}$/],
    ["${other}-${hex(x)}", /^\$\{other\}-\$\{hex\(x\)\}$/],
  ])("makes a name of the pattern %s; what is no expression stays as it is", (pattern, form) => {
    expect(nameOf(pattern)).toMatch(form);
  });

  test("makes the same name of the same key, so that a repeated creation asks for the same object", () => {
    const pattern = "${alphanum(8)}-${alphanum(8)}-${uuid}";
    expect(nameOf(pattern)).toBe(nameOf(pattern));
    expect(nameOf(pattern)).not.toBe(nameOf(pattern, { __key: OTHER_KEY }));
    const [first, second] = String(nameOf(pattern)).split("-");
    expect(first).not.toBe(second);
  });

  test("makes a name that a preview shows, if no part of it is random", () => {
    expect(nameOf("${name}-blue", { __key: UNKNOWN_TEXT })).toBe("web-blue");
    expect(nameOf("${name}-${num(1)}", { __key: UNKNOWN_TEXT })).toBe(UNKNOWN_TEXT);
  });

  test("does not change a name that was generated before, whatever the setting was then and is now", () => {
    const settings = [undefined, "${name}", "${name}-${hex(8)}", false];
    for (const before of settings.slice(0, 3)) {
      const first = checked({}, named(before));
      for (const now of settings) {
        expect(checked(first, named(now, { __key: OTHER_KEY }))).toEqual(first);
        expect(check(instanceKind, first, named(now)).failures).toEqual([]);
      }
    }
  });

  test("does not change a name that was generated when the program took back its own name", () => {
    const given = checked({}, instanceNews({ name: "front" }));
    const taken = checked(given, named("${name}-${hex(8)}"));
    expect(taken.name).toMatch(/^web-[0-9a-f]{8}$/);
    expect(checked(taken, named("${name}-other")).name).toBe(taken.name);
  });

  test("in the mode disabled, requires a name of a new resource, and of one that had its name from the program", () => {
    const reason = "name: is required, because pulumi:autonaming has the mode disabled";
    expect(check(instanceKind, {}, named(false)).failures).toEqual([{ property: "", reason }]);
    const given = checked({}, instanceNews({ name: "front" }));
    expect(check(instanceKind, given, named(false)).failures).toEqual([{ property: "", reason }]);
    expect(check(instanceKind, {}, { ...instanceNews(), __autonaming: false }).failures).toEqual([]);
  });

  test("never reaches the state", () => {
    for (const naming of ["${name}", false]) {
      expect(checked({}, { ...instanceNews(), __autonaming: naming })).not.toHaveProperty("__autonaming");
      expect(checked(checked({}, named("${name}")), named(naming))).not.toHaveProperty("__autonaming");
    }
  });
});

test("a given name that looks like a made-up one is given: its object is deleted before another takes its name", async () => {
  const service = await startService();
  const project = service.emulator.addProject().id;
  const { inputs } = await service.instances.check({}, { ...unnamed(KEY), project });
  const { id, outs } = await service.instances.create(toPlainJson(inputs));
  const pinned = instanceNews({ project, name: inputs.name, image: "debian-14" });
  const { inputs: next } = await service.instances.check(toPlainJson(inputs), pinned);
  expect(await service.instances.diff(id, outs, toPlainJson(next))).toMatchObject({
    replaces: ["image"],
    deleteBeforeReplace: true,
  });
});
