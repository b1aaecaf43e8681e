// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import { describe, expect, test } from "vitest";
import { instanceKind, projectFields, projectKind } from "../../src/model/resource-fields";
import { type Properties, toPlainJson } from "../../src/model/state";
import { instanceNews, KEY, OTHER_KEY, projectNews, UNKNOWN_TEXT } from "../provider/samples";
import { startService } from "../provider/service";
import { check, diff } from "../provider/typed";

/** The inputs as the host gets them: without anything undefined. */
const checked = (olds: Properties, news: Properties): Properties =>
  toPlainJson(check(instanceKind, olds, news).inputs);
const unnamed = (key: string): Properties => instanceNews({ name: undefined, __key: key });

describe("a generated name", () => {
  test("consists of the resource's name and seven digits of the key", () => {
    expect(checked({}, unnamed(KEY))).toMatchObject({ name: "web-3f8a2c1" });
    const { inputs } = check(projectKind, {}, { ...projectNews(), name: undefined });
    expect(inputs.name).toBe("shop-3f8a2c1");
  });

  test("is unknown in a preview, because `up` has another key", () => {
    expect(checked({}, unnamed(UNKNOWN_TEXT)).name).toBe(UNKNOWN_TEXT);
  });

  test("is kept by later runs, including previews", () => {
    const first = checked({}, unnamed(KEY));
    expect(checked(first, unnamed(OTHER_KEY))).toEqual(first);
    expect(checked(first, unnamed(UNKNOWN_TEXT))).toEqual(first);
  });

  test("is kept if the resource gets another name with an alias", () => {
    const first = checked({}, unnamed(KEY));
    const renamed = { ...unnamed(OTHER_KEY), __urn: "urn:pulumi:dev::app::x:y:Instance::front" };
    expect(checked(first, renamed).name).toBe("web-3f8a2c1");
  });

  test("isn't generated again if a refresh has read another name, because the program doesn't declare one", () => {
    const { inputs: first } = check(projectKind, {}, { ...projectNews(), name: undefined });
    const refreshed = { ...toPlainJson(first), name: "Production" };
    const { inputs } = check(projectKind, refreshed, {
      ...projectNews({ __key: OTHER_KEY }),
      name: undefined,
    });
    expect(inputs.name).toBe("Production");
    expect(diff(projectFields, refreshed, toPlainJson(inputs)).changes).toBe(false);
  });

  test("is new for a replacement, so that both objects can exist at the same time", () => {
    expect(checked({}, unnamed(OTHER_KEY)).name).toBe("web-9b1d4c7");
  });

  test("begins with the kind of object if an older program doesn't pass the resource's name", () => {
    expect(checked({}, { ...unnamed(KEY), __urn: UNKNOWN_TEXT }).name).toBe("instance-3f8a2c1");
    const { __urn, ...nameless } = unnamed(KEY);
    expect(__urn).toBeTypeOf("string");
    expect(checked({}, nameless).name).toBe("instance-3f8a2c1");
  });

  test("begins with the last part of the URN, even if the URN contains parent types", () => {
    const nested = "urn:pulumi:dev::app::my:component:Fleet$pulumi-nodejs:dynamic/cloudinfra:Instance::db";
    expect(checked({}, { ...unnamed(KEY), __urn: nested }).name).toBe("db-3f8a2c1");
  });
});

describe("a name in the program", () => {
  test("can be removed and added again, and the key stays the same", () => {
    const given = checked({}, instanceNews({ name: "front" }));
    const taken = checked(given, unnamed(OTHER_KEY));
    const again = checked(taken, instanceNews({ name: "front", __key: OTHER_KEY }));
    expect([given, taken, again].map(({ name }) => name)).toEqual(["front", "web-3f8a2c1", "front"]);
    expect([given, taken, again].map(({ __key }) => __key)).toEqual([KEY, KEY, KEY]);
  });

  test("replaces a generated one", () => {
    expect(checked(checked({}, unnamed(KEY)), instanceNews({ name: "front" })).name).toBe("front");
  });

  test("is kept as unknown if it is unknown in a preview", () => {
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
  ])(
    "generates a name from the pattern %s, and keeps everything that isn't an expression",
    (pattern, form) => {
      expect(nameOf(pattern)).toMatch(form);
    },
  );

  test("generates the same name for the same key, so that a resent creation requests the same object", () => {
    const pattern = "${alphanum(8)}-${alphanum(8)}-${uuid}";
    expect(nameOf(pattern)).toBe(nameOf(pattern));
    expect(nameOf(pattern)).not.toBe(nameOf(pattern, { __key: OTHER_KEY }));
    const [first, second] = String(nameOf(pattern)).split("-");
    expect(first).not.toBe(second);
  });

  test("generates a name that a preview shows if no part of it is random", () => {
    expect(nameOf("${name}-blue", { __key: UNKNOWN_TEXT })).toBe("web-blue");
    expect(nameOf("${name}-${num(1)}", { __key: UNKNOWN_TEXT })).toBe(UNKNOWN_TEXT);
  });

  test("doesn't change a name that was generated before, even if the setting changes", () => {
    const settings = [undefined, "${name}", "${name}-${hex(8)}", false];
    for (const before of settings.slice(0, 3)) {
      const first = checked({}, named(before));
      for (const now of settings) {
        expect(checked(first, named(now, { __key: OTHER_KEY }))).toEqual(first);
        expect(check(instanceKind, first, named(now)).failures).toEqual([]);
      }
    }
  });

  test("doesn't change a name that was generated after the program removed its own name", () => {
    const given = checked({}, instanceNews({ name: "front" }));
    const taken = checked(given, named("${name}-${hex(8)}"));
    expect(taken.name).toMatch(/^web-[0-9a-f]{8}$/);
    expect(checked(taken, named("${name}-other")).name).toBe(taken.name);
  });

  test("requires a name of a new resource, and of one whose name the program removes, in the mode disabled", () => {
    const reason = "name: is required, because pulumi:autonaming has the mode disabled";
    expect(check(instanceKind, {}, named(false)).failures).toEqual([{ property: "", reason }]);
    const given = checked({}, instanceNews({ name: "front" }));
    expect(check(instanceKind, given, named(false)).failures).toEqual([{ property: "", reason }]);
    expect(check(instanceKind, {}, { ...instanceNews(), __autonaming: false }).failures).toEqual([]);
  });

  test("isn't saved in the state", () => {
    for (const naming of ["${name}", false]) {
      expect(checked({}, { ...instanceNews(), __autonaming: naming })).not.toHaveProperty("__autonaming");
      expect(checked(checked({}, named("${name}")), named(naming))).not.toHaveProperty("__autonaming");
    }
  });
});

test("if the program declares a name that equals the generated one, a replacement deletes the old object first", async () => {
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
