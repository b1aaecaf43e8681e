import { expect, it } from "vitest";
import { Instance, Project } from "../../src";
import { fenced, quoted, readMarkdown } from "./markdown";

const page = readMarkdown("docs/testing.md");

it("docs/testing.md shows pieces of the example's own tests, and the types of resources", () => {
  const tests = ["mocks", "emulator"].map((name) => readMarkdown(`examples/testing/${name}.test.mts`)).join();
  const pieces = fenced(page, "ts");
  expect(pieces.length).toBeGreaterThan(1);
  for (const piece of pieces) expect(tests).toContain(piece);
  for (const { __pulumiType } of [Instance, Project]) expect(quoted(page)).toContain(__pulumiType);
});
