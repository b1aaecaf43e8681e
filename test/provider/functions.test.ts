import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { foundInstance, instanceFilter } from "../../src/provider/functions";

describe("the arguments of getInstances", () => {
  test.each([
    [undefined, {}],
    [{}, {}],
    [{ project: undefined, status: undefined, labels: undefined }, {}],
    [
      { project: "prj-1", status: "running" },
      { project: "prj-1", status: "running" },
    ],
    [{ labels: { env: "", constructor: "x" } }, { labels: { env: "", constructor: "x" } }],
  ])("%j filter by the defined values", (given, filter) => {
    expect(instanceFilter(given)).toEqual(filter);
  });

  test.each([
    [{ labels: { env: undefined } }, "labels.env: must be a string, but is undefined"],
    [{ labels: { env: null } }, "labels.env: must be a string, but is null"],
    [
      { labels: { "app.kubernetes.io/name": 1 } },
      'labels["app.kubernetes.io/name"]: must be a string, but is a number',
    ],
    [{ labels: { "": "x" } }, 'labels[""]: a label key must not be empty or contain white space'],
    [{ labels: ["env"] }, "labels: must be a map of strings, but is a list"],
    [{ labels: "env=prod" }, "labels: must be a map of strings, but is a string"],
    [{ project: "" }, "project: must not be empty"],
    [{ status: "  " }, "status: must not be empty"],
    [{ project: null }, "project: must be a string, but is null"],
    [{ status: Number.NaN }, "status: must be a string, but is NaN"],
    [{ project: { id: "prj-1" } }, "project: must be a string, but is a map"],
    [{ label: { env: "prod" } }, 'unknown argument "label"; expected project, status, labels'],
    ["prj-1", "the arguments must be a map, but are a string"],
    [null, "the arguments must be a map, but are null"],
    [["prj-1"], "the arguments must be a map, but are a list"],
  ])("%j cause an error that names the property", (given, words) => {
    expect(() => instanceFilter(given)).toThrow(
      expect.objectContaining({ code: "input_invalid", summary: words }),
    );
  });

  test("with several problems cause an error that names each of them, without values", () => {
    const wrong = { project: "", labels: { env: undefined, owner: { secret: "hush" } } };
    expect(() => instanceFilter(wrong)).toThrow(
      expect.objectContaining({
        summary:
          "project: must not be empty; labels.env: must be a string, but is undefined; " +
          "labels.owner: must be a string, but is a map",
      }),
    );
  });
});

test("an instance that a function returns has all labels as strings, with any keys", () => {
  const labels = { constructor: "a", env: "prod", replicas: 3, empty: null };
  expect(v.parse(foundInstance, { id: "ins-1", labels }).labels).toEqual({
    constructor: "a",
    env: "prod",
    replicas: "3",
  });
});
