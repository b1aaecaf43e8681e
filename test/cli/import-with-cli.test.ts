import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Emulator } from "../../src/emulator";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { fenced, readMarkdown, section } from "../readme/markdown";
import { parseCommandLine } from "./command-line";
import { type RealStack, realStack } from "./real-cli";
import { type Ended, runCli } from "./run-cli";

const pulumi = pulumiOnPath();

/** Adds a project with three instances: two with the same name, one of them with all properties, and one with unusual values. */
function inhabited(emulator: Emulator): { project: string; instances: string[] } {
  const project = emulator.addProject({ name: "web", region: "eu-1" }).id;
  const common = { project, image: "debian-13", flavor: "small", network: "n1" };
  const others = {
    public_ip: "auto",
    ssh_keys: ["ssh-rsa AAAA a", "ssh-rsa BBBB"],
    labels: { "a/b": 'q"u', team: "x", constructor: "c", prototype: "p" },
  };
  const unusual = {
    name: "ｗｅｂ `$` ::2\n",
    network: 5,
    ssh_keys: ["ssh-rsa AAAA a\n"],
    labels: { size: 5, "a b": "not in the program" },
  };
  const all = [{ name: "web" }, { name: "web", ...others }, unusual];
  return { project, instances: all.map((fields) => emulator.addInstance({ ...common, ...fields }).id) };
}

/** Returns the written program without its import, for the JavaScript programs of the tests. */
const programIn = (dir: string): string =>
  readFileSync(path.join(dir, "imported.ts"), "utf8").replace(/^import .*\n/, "");

const imported = (stack: RealStack, env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  runCli(stack.dir, ["import", ...args], env);

describe.runIf(pulumi)("`import` of a project's instances", () => {
  it.each([
    ["the instances", [], 3, "mode"],
    ["instances whose public address is returned without its mode", [], 3, "null"],
    ["the instances and the project, to which they refer", ["--with-project"], 4, "mode"],
  ] as const)("imports %s, and the next preview shows no changes", async (_, more, count, shows) => {
    const stack = await realStack(pulumi ?? "", "");
    const env = stack.machine("here");
    stack.emulator.behaviour.extraFields = { first_password: stack.leaks.secret("opened-sesame") };
    stack.emulator.behaviour.publicIpShows = shows;
    const { project } = inhabited(stack.emulator);
    const addresses = () => [...stack.emulator.instances.values()].map(({ address }) => address);
    const before = addresses();
    const { code, stdout, stderr } = await imported(stack, env, "--project", project, ...more);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const command = /^ +pulumi (import --file .*)$/m.exec(stdout)?.[1]?.split(" ") ?? [];
    await stack.run(env, ...command, "--yes", "--skip-preview");
    await stack.run(env, "refresh", "--yes", "--skip-preview", "--diff");
    stack.write(programIn(stack.dir));
    const asked = stack.emulator.requests.length;
    expect(await stack.run(env, "preview", "--expect-no-changes")).toContain(`${count + 1} unchanged`);
    expect(await stack.run(env, "up", "--yes", "--skip-preview", "--expect-no-changes")).toContain(
      `unchanged`,
    );
    expect(stack.emulator.requests.length).toBe(asked);
    await stack.run(env, "refresh", "--yes", "--expect-no-changes");
    await stack.run(env, "preview", "--expect-no-changes");
    stack.write(
      programIn(stack.dir)
        .replaceAll('flavor: "small"', 'flavor: "large"')
        .replaceAll("{ protect: true }", "{}"),
    );
    await stack.run(env, "up", "--yes", "--skip-preview");
    expect([...stack.emulator.instances.values()].map(({ fields }) => fields.flavor)).toEqual([
      "large",
      "large",
      "large",
    ]);
    expect(addresses()).toEqual(before);
    const labels = [...stack.emulator.instances.values()].map(({ fields }) => fields.labels);
    expect(labels, "labels that the program doesn't declare are kept").toContainEqual(
      expect.objectContaining({ "a b": "not in the program" }),
    );
    await stack.run(env, "destroy", "--yes", "--skip-preview");
    expect(stack.emulator.instances.size).toBe(0);
    expect(stack.emulator.projects.size).toBe(more.length > 0 ? 0 : 1);
  });

  it("uses the settings of an explicit provider, and assigns the resources to it", async () => {
    const stack = await realStack(pulumi ?? "", "");
    const env = stack.machine("here");
    const { project } = inhabited(stack.emulator);
    const { endpoint, token } = stack.emulator;
    await stack.run(env, "config", "set", "cloudinfra:endpoint", "http://127.0.0.1:1");
    const secret = 'new pulumi.Config("theirs").requireSecret("token")';
    const declared = `const provider = new Provider("eu", { endpoint: "${endpoint}", token: ${secret}, concurrency: 3 });`;
    stack.write(declared);
    await stack.run(env, "config", "set", "--secret", "theirs:token", token);
    const early = await imported(stack, env, "--project", project, "--provider", "eu");
    expect(early).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no provider "eu". It has: none'),
    });
    await stack.run(env, "up", "--yes", "--skip-preview");
    const { code, stdout, stderr } = await imported(stack, env, "--project", project, "--provider", "eu");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const command = /^ +pulumi (import --file .*)$/m.exec(stdout)?.[1]?.split(" ") ?? [];
    await stack.run(env, ...command, "--yes", "--skip-preview");
    stack.write(`${declared}\n${programIn(stack.dir)}`);
    expect(programIn(stack.dir)).toContain("protect: true, provider }");
    const preview = await stack.run(env, "preview", "--expect-no-changes");
    expect(preview).toContain("5 unchanged");
    await stack.run(env, "refresh", "--yes", "--expect-no-changes");
    await stack.run(env, "destroy", "--yes", "--skip-preview", "--exclude-protected");
    expect(stack.emulator.instances.size).toBe(3);
    const again = await imported(stack, env, "--project", project, "--provider", "eu", "--force");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("No file was written") });
    expect(again.stderr.match(/omitted: the stack already manages it/g)).toHaveLength(3);
  });

  it("writes nothing if the service returns no such project, or if a file already exists", async () => {
    const stack = await realStack(pulumi ?? "", "");
    const env = stack.machine("here");
    const { project } = inhabited(stack.emulator);
    const unknown = await imported(stack, env, "--project", "prj-none");
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("the service returned no project prj-none");
    expect(unknown.stderr).toContain(`--project: ${project}.`);
    writeFileSync(path.join(stack.dir, "imported.ts"), "mine");
    const there = await imported(stack, env, "--project", project);
    expect(there.code).toBe(1);
    expect(there.stderr).toMatch(/imported\.ts already exists\n.*code input_invalid\n.*--force/);
    expect(existsSync(path.join(stack.dir, "import.json"))).toBe(false);
    expect(readFileSync(path.join(stack.dir, "imported.ts"), "utf8")).toBe("mine");
    expect(`${unknown.stderr}${there.stderr}`).not.toContain(stack.emulator.token);
  });
});

describe("the command line of `import`", () => {
  it("accepts the call in examples/importing, and writes the files that are named there", async () => {
    const page = section(readMarkdown("examples/importing/README.md"), "A whole project");
    const [command = "", ...others] = fenced(page, "sh").join().split("\n");
    const [, args = ""] = /^npx pulumi-cloudinfra import (.*)$/.exec(command) ?? [];
    const parsed = await parseCommandLine("import", ...args.split(" "));
    expect(parsed).toMatchObject({ options: { project: "prj-1", withProject: true } });
    const { document, program } = Object(parsed).options;
    expect(others).toContain(`pulumi import --file ${document} --generate-code=false`);
    expect(others).toContain(`mv ${program} index.ts`);
  });

  it.each([
    [[], "required option '--project <id>' not specified"],
    [["--project", ""], "invalid value '' for option '--project <id>': must not be empty"],
    [
      ["--project", "p", "--program", ""],
      "invalid value '' for option '--program <path>': must not be empty",
    ],
    [["--project", "p", "--program", "x", "--document", "./x"], "must be different files"],
    [["--projekt", "p"], "unknown option '--projekt'\n(Did you mean --project?)"],
  ])("rejects %j", async (args, words) => {
    expect(await parseCommandLine("import", ...args)).toEqual({ error: expect.stringContaining(words) });
  });
});
