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

describe("conversion to plain JSON", () => {
  test("omits undefined from maps, and replaces it with null in lists to keep their indexes", () => {
    expect(
      toPlainJson({ a: undefined, b: { c: undefined, d: 1 }, e: [1, undefined, { f: undefined }] }),
    ).toStrictEqual({
      b: { d: 1 },
      e: [1, null, {}],
    });
  });

  test("doesn't change plain JSON", () => {
    fc.assert(
      // A JSON text, unlike a value, contains no negative zero.
      fc.property(fc.dictionary(fc.string(), fc.json({ noUnicodeString: false })), (texts) => {
        const json = Object.fromEntries(
          Object.entries(texts).map(([key, text]): [string, unknown] => [key, JSON.parse(text)]),
        );
        expect(toPlainJson(json)).toEqual(json);
      }),
    );
  });
});
