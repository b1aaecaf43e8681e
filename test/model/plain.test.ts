import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toPlainJson } from "../../src/model/state";

class Machine {
  readonly cores = 4;
  readonly spare = undefined;
}

/** Whatever could get among outputs, at any depth. */
const anything = fc.anything({
  withDate: true,
  withBigInt: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
  maxDepth: 5,
  values: [
    fc.constantFrom<unknown>(
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      null,
      "",
      0,
      new Date(Number.NaN),
    ),
    fc.constantFrom<unknown>(() => 1, Symbol("x"), new Machine()),
    fc.string(),
    fc.double(),
    fc.date(),
    fc.bigInt(),
  ],
});

/** Every value in a tree, inner ones first. */
function values(tree: unknown): unknown[] {
  return typeof tree === "object" && tree !== null ? [...Object.values(tree).flatMap(values), tree] : [tree];
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  return value === null || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

test("whatever goes in, the host can bear what comes out: plain JSON, the same after a round trip", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), anything), (properties) => {
      const clean = toPlainJson(properties);
      const left = values(clean).filter((value) => !isJson(value));
      expect(left).toEqual([]);
      const text = JSON.stringify(clean);
      expect(JSON.stringify(JSON.parse(text))).toBe(text);
    }),
    { numRuns: 1_000 },
  );
});

describe("in particular", () => {
  test("what is undefined is left out of maps and becomes null in lists, whose places count", () => {
    expect(
      toPlainJson({ a: undefined, b: { c: undefined, d: 1 }, e: [1, undefined, { f: undefined }] }),
    ).toStrictEqual({
      b: { d: 1 },
      e: [1, null, {}],
    });
  });

  test("dates become text, and numbers that are none are left out", () => {
    const at = new Date("2026-01-01T00:00:00Z");
    expect(toPlainJson({ at, never: new Date(Number.NaN), n: Number.NaN, big: 2n ** 60n })).toStrictEqual({
      at: "2026-01-01T00:00:00.000Z",
      big: "1152921504606846976",
    });
  });

  test("plain JSON comes out as it went in", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), (json) => {
        expect(toPlainJson(json)).toEqual(json);
      }),
    );
  });
});
