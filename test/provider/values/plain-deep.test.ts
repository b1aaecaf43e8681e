import { expect, test } from "vitest";
import { plain } from "../../../src/provider/values/plain";

test("however deep a reply is nested, it fails no creation", () => {
  let deep: unknown = "bottom";
  for (let level = 0; level < 20_000; level++) deep = { inner: [deep] };
  expect(plain({ status: "running", deep })).toMatchObject({ status: "running" });
});
