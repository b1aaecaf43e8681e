import { expect, it } from "vitest";
import { projectKind } from "../../src/model/resource-fields";
import { check } from "../provider/typed";

const fresh = { region: "eu-1", __key: "fresh", __keyAt: 2 };
const keyOf = (olds: Record<string, unknown>, left?: { named: { key: string }; at: number }) => {
  const { __key, __keyAt } = check(projectKind, olds, fresh, { unfinished: left }).inputs;
  return { __key, __keyAt };
};

it("the time of a key stays with the key: a new resource's, a kept one's, and that of a creation that was cut off", () => {
  expect(keyOf({})).toEqual({ __key: "fresh", __keyAt: 2 });
  expect(keyOf({ __key: "old", __keyAt: 1 })).toEqual({ __key: "old", __keyAt: 1 });
  expect(keyOf({ __key: "older than times" })).toEqual({ __key: "older than times", __keyAt: undefined });
  expect(keyOf({}, { named: { key: "left" }, at: 1 })).toEqual({ __key: "left", __keyAt: 1 });
});
