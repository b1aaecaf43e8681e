import { describe, expect, test } from "vitest";
import { applyReplaceOnChanges, compareInputs, equal } from "./diff";
import { contains, parsePath, reset, showPath } from "./paths";
import {
  decode,
  encode,
  forProgram,
  forProvider,
  forState,
  markSecrets,
  Reference,
  Secret,
  unknown,
  unknownText,
} from "./values";

describe("values", () => {
  const value = { a: [1, null, new Secret({ b: "hush" })], c: unknown, d: new Reference("urn:x", "i-1") };

  test("are unchanged after a round trip through the program or a state file", () => {
    expect(decode(encode(value, forProgram))).toEqual(value);
    expect(decode(encode(value, forState))).toEqual(value);
  });

  test("reach a provider in plaintext, with ids for resources", () => {
    expect(encode(value, forProvider)).toEqual({ a: [1, null, { b: "hush" }], c: unknownText, d: "i-1" });
  });

  test("in outputs are secret if the input of the same name contains a secret", () => {
    const inputs = {
      token: new Secret("x"),
      labels: { deep: new Secret("y"), other: "z" },
      list: [new Secret("w")],
    };
    const outputs = { token: "x", labels: { deep: "y", other: "z" }, list: ["w"], status: "on" };
    expect(markSecrets(outputs, inputs)).toEqual({
      token: new Secret("x"),
      labels: { deep: new Secret("y"), other: "z" },
      list: new Secret(["w"]),
      status: "on",
    });
  });

  test("are equal regardless of secret marks, and never if unknown", () => {
    expect(equal({ a: new Secret("x") }, { a: "x" })).toBe(true);
    expect(equal(unknown, unknown)).toBe(false);
  });
});

describe("differences", () => {
  test("are reported with their property paths", () => {
    const olds = { flavor: "s", labels: { x: "1", y: "1" }, keys: ["a", "b"] };
    const news = { flavor: "l", labels: { x: "1", z: "1" }, keys: ["a"] };
    expect(compareInputs(olds, news, []).detailed).toEqual({
      flavor: "update",
      "labels.y": "delete",
      "labels.z": "add",
      "keys[1]": "delete",
    });
  });

  test("are not reported for ignored paths", () => {
    const olds = { labels: { x: "1", y: "1" } };
    expect(compareInputs(olds, { labels: { x: "2" } }, ["labels.x", "labels.y"]).changes).toBe(false);
    expect(compareInputs(olds, { flavor: "l" }, ["*"]).changes).toBe(false);
  });

  test("force a replacement if `replaceOnChanges` lists their paths", () => {
    const compared = compareInputs({ labels: { x: "1", y: "1" } }, { labels: { x: "1", y: "2" } }, []);
    const diff = { ...compared, replaces: [], deleteBeforeReplace: false };
    expect(applyReplaceOnChanges(diff, ["labels.x"], false).replaces).toEqual([]);
    expect(applyReplaceOnChanges(diff, ["labels.y"], false).replaces).toEqual(["labels"]);
    expect(applyReplaceOnChanges(diff, ["*"], false).replaces).toEqual(["labels"]);
  });
});

describe("paths", () => {
  test.each(["a.b[0].c", 'a["b.c"][1]', "a"])("%s is read and written", (text) => {
    expect(showPath(parsePath(text))).toBe(text);
  });

  test("with a star match every element", () => {
    expect(contains(parsePath("keys[*].name"), ["keys", 3, "name", "x"])).toBe(true);
    expect(contains(parsePath("keys[*].name"), ["keys", 3])).toBe(false);
    expect(reset(parsePath("keys[*].n"), { keys: [{ n: 1 }] }, { keys: [{ n: 2, m: 2 }] })).toEqual({
      keys: [{ n: 1, m: 2 }],
    });
  });
});
