import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKeptSecrets } from "../../src/model/secrets";
import {
  type Desired,
  parseDeclared,
  parseDesired,
  parseRecorded,
  type Recorded,
  toBag,
  toPlainJson,
} from "../../src/model/state";
import { instanceNews } from "../provider/samples";

const hidden = {
  __timeouts: { create: "5m" },
  __secrets: ["labels"],
  __autonamed: true,
  __organization: "acme",
  __projectFolder: "..",
};
const inputs = {
  ...instanceNews({ sshKeys: ["ssh-rsa AAAAB3"], labels: { a: "1" } }),
  ...hidden,
  __keyAt: 5,
};
const state = {
  ...inputs,
  __now: { __urn: "urn:renamed", __timeouts: {}, __secrets: [] },
  __endpoint: "https://api.example.com/v1",
  __words: { image: "img-7" },
  __applied: { flavor: { value: "small", word: "flv-1" } },
  __unmanaged: { publicIp: "1a2b3c" },
  __pending: { key: "k", body: "{}", at: 1, operation: { id: "op-1", url: "/operations/op-1" } },
  __sealed: ["url"],
  __shown: ["labels"],
  __resumed: true,
  __echoed: true,
  __keepsCase: true,
  __inHeader: true,
  status: "running",
  revision: "r7",
  additionalProperties: { host: "rack-4" },
};

describe("the state codec", () => {
  test("returns inputs and states as they are, with the properties of other versions", () => {
    expect(toBag(parseDesired({ ...inputs, __later: 1 }))).toEqual({ ...inputs, __later: 1 });
    expect(toBag(parseRecorded({ ...state, later: [1] }))).toEqual({ ...state, later: [1] });
  });

  test("prefers the hidden inputs of the current run to those that the engine has saved", () => {
    expect(parseRecorded(state)).toMatchObject({ urn: "urn:renamed", secrets: [], isAutonamed: undefined });
    expect(parseRecorded({ ...state, __now: "damaged" })).toMatchObject({
      urn: instanceNews().__urn,
      secrets: ["labels"],
    });
  });

  test("treats a malformed member as absent", () => {
    const damaged = {
      __key: 7,
      __secrets: "labels",
      __pending: "x",
      __words: 1,
      revision: 4,
      project: null,
    };
    const { unknown, ...members } = parseRecorded(damaged);
    expect(Object.values(members).filter((value) => value !== undefined)).toEqual([]);
    expect(unknown).toEqual(damaged);
  });

  test("leaves the options of a declared resource out of its inputs", () => {
    const declared = parseDeclared({
      ...inputs,
      flavour: "x",
      __ignoreChanges: ["name"],
      __autonaming: false,
    });
    expect(declared).toMatchObject({ ignoreChanges: ["name"], autonaming: false, given: { flavour: "x" } });
    expect(toBag(declared)).toEqual({ ...inputs, flavour: "x" });
  });
});

test("passing a state as inputs or inputs as a state doesn't compile", () => {
  const [prior, news]: [Recorded, Desired] = [parseRecorded(state), parseDesired(inputs)];
  // @ts-expect-error: the two sides are swapped
  withKeptSecrets(prior, news, []);
  // @ts-expect-error: a changed state is a state
  withKeptSecrets({ ...prior, key: "k" }, prior, []);
  // @ts-expect-error: properties must be parsed
  withKeptSecrets(inputs, prior, []);
  expect(withKeptSecrets(news, prior, [])).toBe(news);
});

class Machine {
  readonly cores = 4;
  readonly spare = undefined;
}

/** Any value that outputs could contain, at any depth. */
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

/** Returns every value in a tree, inner ones first. */
function values(tree: unknown): unknown[] {
  return typeof tree === "object" && tree !== null ? [...Object.values(tree).flatMap(values), tree] : [tree];
}

function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  return value === null || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

describe("conversion to plain JSON", () => {
  test("returns only JSON values that stay the same after a round trip, for any properties", () => {
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

  test("omits undefined from maps, and replaces it with null in lists to keep their indexes", () => {
    expect(
      toPlainJson({ a: undefined, b: { c: undefined, d: 1 }, e: [1, undefined, { f: undefined }] }),
    ).toStrictEqual({
      b: { d: 1 },
      e: [1, null, {}],
    });
  });

  test("converts dates and bigints to strings, and omits invalid dates and numbers", () => {
    const at = new Date("2026-01-01T00:00:00Z");
    expect(toPlainJson({ at, never: new Date(Number.NaN), n: Number.NaN, big: 2n ** 60n })).toStrictEqual({
      at: "2026-01-01T00:00:00.000Z",
      big: "1152921504606846976",
    });
  });

  test("doesn't change plain JSON", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), (json) => {
        expect(toPlainJson(json)).toEqual(json);
      }),
    );
  });

  test("doesn't fail for deeply nested values, so that a reply can't make a creation fail", () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 20_000; level++) deep = { inner: [deep] };
    expect(toPlainJson({ status: "running", deep })).toMatchObject({ status: "running" });
  });
});
