import type { Output } from "@pulumi/pulumi";
import { expect, it, onTestFinished, vi } from "vitest";
import { getInstances, Instance, Project } from "../../src";
import { startEmulator } from "../../src/emulator";
import { registered } from "../resources/registered";
import { fenced, quoted, readMarkdown } from "./markdown";

const page = readMarkdown("docs/testing.md");

it("docs/testing.md shows pieces of the example's own tests", () => {
  const tests = ["mocks", "emulator"].map((name) => readMarkdown(`examples/testing/${name}.test.mts`)).join();
  const pieces = fenced(page, "ts");
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces) expect(tests).toContain(piece);
});

it("what it says of mocks is so: types, inputs, outputs that nobody gave, and functions", async () => {
  const emulator = await startEmulator();
  onTestFinished(() => emulator.stop());
  emulator.addInstance();
  vi.stubEnv("CLOUDINFRA_ENDPOINT", emulator.endpoint);
  vi.stubEnv("CLOUDINFRA_TOKEN", emulator.token);
  onTestFinished(() => void vi.unstubAllEnvs());
  const valueSoon = (output: Output<unknown>): Promise<unknown> =>
    new Promise((resolve) => output.apply(resolve));
  let looked: unknown[] = [];
  const seen = await registered(async () => {
    const project = new Project("shop", { region: "eu-1" });
    const args = { image: "debian-13", flavor: "small", network: "default" };
    const web = new Instance("web", { ...args, project: project.id });
    looked = await Promise.all([web.name, web.ipAddress, web.status, web.flavor].map(valueSoon));
    expect(await getInstances()).toHaveLength(1);
  });
  expect(looked).toEqual([undefined, undefined, undefined, "small"]);
  for (const { type } of seen) expect(quoted(page)).toContain(type);
  const more = seen.flatMap(({ inputs }) => Object.keys(inputs)).filter((name) => name.startsWith("_"));
  expect(more.length).toBeGreaterThan(0);
  expect(more.filter((name) => !name.startsWith("__"))).toEqual([]);
});
