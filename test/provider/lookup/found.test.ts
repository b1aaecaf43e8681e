import * as v from "valibot";
import { expect, test } from "vitest";
import { foundInstance } from "../../../src/provider/functions";

test("an instance that a function returns has all labels as strings, with any keys", () => {
  const labels = { constructor: "a", env: "prod", replicas: 3, empty: null };
  expect(v.parse(foundInstance, { id: "ins-1", labels }).labels).toEqual({
    constructor: "a",
    env: "prod",
    replicas: "3",
  });
});
