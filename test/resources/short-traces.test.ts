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
])("%s restores the length of the program's stack traces", async (_what, make) => {
  Error.stackTraceLimit = 7;
  await one(make);
  expect(Error.stackTraceLimit).toBe(7);
});

test("an error of the constructor has the stack trace of its caller, and the length of stack traces is restored", () => {
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

test("a resource that is only read keeps its stack trace, which the SDK needs for the error about a missing object", () => {
  Error.stackTraceLimit = 7;
  const traces = shortTraces(true);
  expect(new Error("made beforehand").stack).toMatch(/short-traces\.test/);
  traces.end();
  const others = shortTraces(false);
  expect(new Error("of a promise").stack).not.toMatch(/short-traces\.test/);
  others.end();
  expect(Error.stackTraceLimit).toBe(7);
});
