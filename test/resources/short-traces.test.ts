import { afterEach, expect, test } from "vitest";
import { Instance, Project } from "../../src";
import { shortTraces } from "../../src/resources/dynamic-resource";
import { one } from "./registered";

const args = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
const limit = Error.stackTraceLimit;
afterEach(() => {
  Error.stackTraceLimit = limit;
});

test.each([
  ["an instance", () => new Instance("web", args)],
  ["a project", () => new Project("shop", { region: "eu-1" })],
])("%s leaves the program's stack traces as long as they were", async (_what, make) => {
  Error.stackTraceLimit = 7;
  await one(make);
  expect(Error.stackTraceLimit).toBe(7);
});

test("an error of the constructor leads to the line that called it, and leaves the traces as long as they were", () => {
  Error.stackTraceLimit = 7;
  const broken = (): unknown => new Instance("", args);
  const error = thrownBy(broken);
  expect(error.stack).toMatch(/broken.*short-traces\.test/);
  expect(error.stack).toContain(error.message);
  expect(Error.stackTraceLimit).toBe(7);
});

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it threw no error");
}

test("what is looked up keeps its trace: an error that the SDK makes beforehand tells of what is not there", () => {
  Error.stackTraceLimit = 7;
  const traces = shortTraces(true);
  expect(new Error("made beforehand").stack).toMatch(/short-traces\.test/);
  traces.end();
  const others = shortTraces(false);
  expect(new Error("of a promise").stack).not.toMatch(/short-traces\.test/);
  others.end();
  expect(Error.stackTraceLimit).toBe(7);
});
