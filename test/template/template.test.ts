import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { settings as knownSettings } from "../../src/config/settings";
import { fakeEngine } from "../engine";
import { changesOf, expectOk } from "../harness/assertions";
import { linkModules, REPOSITORY } from "../harness/modules";
import { isolatedEnvironment, pulumiOnPath } from "../harness/pulumi-environment";
import { fenced, readMarkdown, section } from "../readme/markdown";

interface Setting {
  readonly description: string;
  readonly default?: string;
  readonly secret?: boolean;
}

const FOLDER = path.join(REPOSITORY, "template");
const FILES = readdirSync(FOLDER).sort();
const EXAMPLES = globSync("examples/*/package.json", { cwd: REPOSITORY }).map(path.dirname);
const NAME = "my-shop";
const DESCRIPTION = "A shop of ours";

const pulumi = pulumiOnPath();
if (!pulumi)
  console.warn("!!! No `pulumi` on PATH: the template is filled in by the test, NOT by `pulumi new`. !!!");

const template: { template: { config: Record<string, Setting> } } = parse(
  readFileSync(path.join(FOLDER, "Pulumi.yaml"), "utf8"),
);
const settings = template.template.config;

/** An empty folder in which this package was installed. */
function newcomersFolder(): string {
  const dir = temporary("folder");
  linkModules(dir, ["@pulumi/pulumi", "@types/node", "typescript"]);
  return dir;
}

function temporary(what: string): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), `cloudinfra-template-${what}-`));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

/** What the README says to type, but that nothing is asked for, and nothing installed. */
async function pulumiNew(cwd: string): Promise<void> {
  const [command = ""] = fenced(section(readMarkdown("README.md"), "Quickstart"), "sh").flatMap(
    (text) => /^pulumi (new [^#\n]*?) *(?:#.*)?$/m.exec(text)?.[1] ?? [],
  );
  const answers = ["--generate-only", "--yes", "--name", NAME, "--description", DESCRIPTION];
  const env = { ...process.env, ...isolatedEnvironment(temporary("cli")) };
  writeFileSync(path.join(cwd, "package.json"), "{}"); // as `npm install` leaves one
  await promisify(execFile)(pulumi ?? "", [...command.split(" "), ...answers], { cwd, env });
}

function fillIn(dir: string): void {
  for (const file of FILES) writeFileSync(path.join(dir, file), filledIn(file));
}

function filledIn(file: string): string {
  const text = readFileSync(path.join(FOLDER, file), "utf8");
  return text.replaceAll("${" + "PROJECT}", NAME).replaceAll("${" + "DESCRIPTION}", DESCRIPTION);
}

it("becomes a program that previews with nothing set", async () => {
  const dir = newcomersFolder();
  if (pulumi) await pulumiNew(dir);
  else fillIn(dir);
  expect(readdirSync(dir).sort()).toEqual([...FILES, "node_modules"].sort());
  const project: Record<string, unknown> = parse(readFileSync(path.join(dir, "Pulumi.yaml"), "utf8"));
  expect(project).toMatchObject({ name: NAME, description: DESCRIPTION });
  for (const file of FILES.filter((name) => name !== "Pulumi.yaml"))
    expect(readFileSync(path.join(dir, file), "utf8"), file).toBe(filledIn(file));

  const stack = await fakeEngine.open({ dir, project: NAME, stack: "dev" });
  onTestFinished(() => stack.dispose());
  expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ create: 3 });
});

it("asks for settings that there are, for the token as a secret", () => {
  const known = Object.keys(knownSettings).map((setting) => `cloudinfra:${setting}`);
  const program = readFileSync(path.join(FOLDER, "index.ts"), "utf8");
  const own = [...program.matchAll(/\.get\("(\w+)"\) \?\? "([^"]+)"/g)].map(([, name, usual]) => [
    name,
    usual,
  ]);
  expect(Object.keys(settings).filter((name) => name.includes(":") && !known.includes(name))).toEqual([]);
  expect(Object.entries(settings).flatMap(([name, one]) => (one.secret ? name : []))).toEqual([
    "cloudinfra:token",
  ]);
  const asked = Object.entries(settings).flatMap(([name, one]) =>
    name.includes(":") ? [] : [[name, one.default]],
  );
  expect(asked).toEqual(own);
});

it("and the examples get the version that they come with", () => {
  const { version } = JSON.parse(readMarkdown("package.json"));
  const [major, minor] = version.split(".");
  for (const folder of ["template", ...EXAMPLES]) {
    const { dependencies } = JSON.parse(readMarkdown(`${folder}/package.json`));
    expect(dependencies["pulumi-cloudinfra"], folder).toBe(`^${major}.${minor}.0`);
  }
});

it("needs the packages that the quickstart needs", () => {
  const packages = (folder: string): Record<string, unknown> => {
    const { dependencies, devDependencies } = JSON.parse(readMarkdown(`${folder}/package.json`));
    return { dependencies, devDependencies };
  };
  expect(packages("template")).toEqual(packages("examples/quickstart"));
});
