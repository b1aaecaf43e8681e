import { expect, test } from "vitest";
import { toPlainJson } from "../../src/model/state";

test("however deep a reply is nested, it fails no creation", () => {
  let deep: unknown = "bottom";
  for (let level = 0; level < 20_000; level++) deep = { inner: [deep] };
  expect(toPlainJson({ status: "running", deep })).toMatchObject({ status: "running" });
});
