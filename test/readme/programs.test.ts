import { globSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Instance, Project } from "../../src";
import { startEmulator } from "../../src/emulator";
import { parseDuration } from "../../src/polling/clock";
import { changesOf, expectConverged, expectOk, noRequestsDuring } from "../harness/assertions";
import { typeErrors } from "../harness/compiler";
import { describeOnEngines } from "../harness/describe-on-engines";
import { REPOSITORY } from "../harness/modules";
import { stateOf } from "../harness/state";
import { fenced, quoted, readMarkdown } from "./markdown";
import { newcomersFolder } from "./program-folder";

const [first = ""] = fenced(readMarkdown("README.md"), "ts");

/** The part of docs/errors.md that a program with the Automation API contains, as such a program. */
const reaction = {
  file: "reaction",
  source:
    'import type { Stack } from "@pulumi/pulumi/automation";\n' +
    `export async function react(stack: Stack) {\n${fenced(readMarkdown("docs/errors.md"), "ts")[1] ?? ""}}\n`,
};

/** All programs of the guides. Pieces without an import aren't whole programs. */
const programs = globSync("docs/**/*.md", { cwd: REPOSITORY }).flatMap((page) =>
  fenced(readMarkdown(page), "ts")
    .filter((source) => /^import .* from "pulumi-cloudinfra"/m.test(source))
    .map((source, index) => ({ source, file: `${page.replaceAll(/\W/g, "-")}-${index + 1}` })),
);

describe("the README's program", () => {
  it("type-checks under strict as a CommonJS program", async () => {
    expect(await typeErrors(newcomersFolder(first, "commonjs"))).toBe("");
  });

  it("type-checks under strict as an ECMAScript module", async () => {
    expect(await typeErrors(newcomersFolder(first, "module"), "--module", "nodenext")).toBe("");
  });

  it("doesn't type-check with a wrong argument", async () => {
    const mistaken = first.replace('region: "eu-1"', "region: 1");
    expect(mistaken).not.toBe(first);
    const words = "Type 'number' is not assignable to type 'Input<string>'";
    expect(await typeErrors(newcomersFolder(mistaken))).toContain(words);
  });
});

it("the programs of the guides type-check under strict", async () => {
  expect(programs.length).toBeGreaterThan(10);
  const all = [...programs, reaction];
  const dir = newcomersFolder(
    all.map(({ file }) => `export * as _${file.replaceAll("-", "_")} from "./${file}";`).join("\n"),
  );
  for (const { file, source } of all) writeFileSync(path.join(dir, `${file}.ts`), `${source}export {};\n`);
  expect(await typeErrors(dir)).toBe("");
});

it("docs/testing.md quotes the tests of examples/testing, and the types of resources", () => {
  const page = readMarkdown("docs/testing.md");
  const tests = ["mocks", "emulator"].map((name) => readMarkdown(`examples/testing/${name}.test.mts`)).join();
  const pieces = fenced(page, "ts");
  expect(pieces).toHaveLength(2);
  expect(pieces.filter((piece) => !tests.includes(piece))).toEqual([]);
  for (const { __pulumiType } of [Instance, Project]) expect(quoted(page)).toContain(__pulumiType);
});

it("docs/waiting.md sets durations that are valid", () => {
  const page = readMarkdown("docs/waiting.md");
  const durations = [...page.matchAll(/(?:create|update|delete): "(.*?)"|operationTimeout (\d\S+)$/gm)];
  expect(durations.map(([, option, setting]) => parseDuration(option ?? setting ?? ""))).toEqual([
    5_400_000, 1_200_000, 600_000, 2_700_000,
  ]);
});

describeOnEngines("the README's program", (engine) => {
  it("previews without requests, creates a project and an instance, and exports the address", async () => {
    const emulator = await startEmulator({ behaviour: { operationMs: 100, deleteObject: 202 } });
    onTestFinished(() => emulator.stop());
    const stack = await engine.open({
      dir: newcomersFolder(first),
      project: "quickstart",
      stack: "dev",
      config: { "cloudinfra:endpoint": emulator.url, "cloudinfra:token": { secret: emulator.token } },
    });
    onTestFinished(() => stack.dispose());

    await noRequestsDuring(emulator, async () => expectOk(await stack.run("preview")));
    const up = expectOk(await stack.run("up"));
    expect(changesOf(up)).toEqual({ create: 3 }); // and the stack itself
    const [made] = emulator.instances.values();
    expect(up.outputs).toEqual({ address: made?.address });
    expect(up.outputs.address).toMatch(/^\d+(\.\d+){3}$/);

    const web = stateOf(await stack.deployment(), "web");
    expect(web.customTimeouts).toEqual({ create: 20 * 60 });
    expect(web.outputs).toMatchObject({ publicIp: "auto" }); // an output that is also an argument
    expect(web.additionalSecretOutputs).toEqual([
      "additionalProperties",
      "__pending",
      "__words",
      "__applied",
    ]);
    await expectConverged({ stack, emulator });

    const destroyed = expectOk(await stack.run("destroy"));
    const row = destroyed.diagnostics.filter(({ urn, ephemeral }) => ephemeral && urn === web.urn);
    const said = row.map(({ message }) => message);
    expect([said[0], said.at(-1)]).toEqual([expect.stringMatching(/^deleting \d+%/), ""]);
    expect(emulator.instances.size + emulator.projects.size).toBe(0);
  });
});
