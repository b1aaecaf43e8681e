import { describe, expect, it, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator";
import { changesOf, expectConverged, expectOk, noRequestsDuring } from "../harness/assertions";
import { complaints } from "../harness/compiler";
import { describeOnEngines } from "../harness/describe-on-engines";
import { stateOf } from "../harness/state";
import { fenced, readMarkdown } from "./markdown";
import { newcomersFolder } from "./program-folder";

const programs = fenced(readMarkdown("README.md"), "ts");
const first = programs[0] ?? "";

it("the README has a whole program", () => {
  expect(first).toContain('from "pulumi-cloudinfra"');
});

describe.each(programs.map((source, index) => ({ source, number: index + 1 })))(
  "program $number of the README",
  ({ source }) => {
    it("type-checks under strict as a CommonJS program", async () => {
      expect(await complaints(newcomersFolder(source, "commonjs"))).toBe("");
    });

    it("type-checks under strict as an ECMAScript module", async () => {
      expect(await complaints(newcomersFolder(source, "module"), "--module", "nodenext")).toBe("");
    });
  },
);

it("a mistake in such a program is seen by the type check", async () => {
  const mistaken = first.replace('region: "eu-1"', "region: 1");
  expect(mistaken).not.toBe(first);
  const words = "Type 'number' is not assignable to type 'Input<string>'";
  expect(await complaints(newcomersFolder(mistaken))).toContain(words);
});

describeOnEngines("the README's first program, typed in as it stands", (engine) => {
  it("previews without asking the service, makes a project and an instance, and yields its address", async () => {
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
