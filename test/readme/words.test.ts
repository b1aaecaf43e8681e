import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseOptions } from "../../demo/options";
import * as cloudinfra from "../../src";
import { Progress } from "../../src/provider/progress/progress";
import { REPOSITORY } from "../harness/modules";
import { FakeClock } from "../polling/fake-clock";
import { fenced, quoted, readMarkdown, relativeLinks } from "./markdown";

const readme = readMarkdown("README.md");
const manifest: { scripts: object; bin: Record<string, string>; engines: { node: string } } = JSON.parse(
  readFileSync(path.join(REPOSITORY, "package.json"), "utf8"),
);
const examples = readdirSync(path.join(REPOSITORY, "examples")).map((name) => `examples/${name}`);

/** What follows `words` wherever the README says it. */
const wordsAfter = (words: string): string[] =>
  [...readme.matchAll(new RegExp(`\\b${words} ([a-z][\\w:]*)`, "g"))].flatMap(([, word]) => word ?? []);

describe("the commands that the README names", () => {
  const shorthands = ["start", "test"];
  const scripts = [
    ...wordsAfter("npm").filter((word) => shorthands.includes(word)),
    ...wordsAfter("npm run"),
  ];

  it("are the ones a newcomer is promised", () => {
    expect(scripts).toEqual(expect.arrayContaining(["start", "test", "check", "bench"]));
    expect(wordsAfter("npx pulumi-cloudinfra")).toContain("emulator");
  });

  it.each([...new Set(scripts)])("npm's %s is a script of the package", (script) => {
    expect(manifest.scripts).toHaveProperty([script], expect.stringMatching(/\S/));
  });

  it.each([...new Set(wordsAfter("npx pulumi-cloudinfra"))])(
    "npx pulumi-cloudinfra %s is a command",
    (command) => {
      const main = path.join(REPOSITORY, manifest.bin["pulumi-cloudinfra"] ?? "");
      const said = execFileSync(process.execPath, [main, command, "--help"], { encoding: "utf8" });
      expect(said).toContain(`npx pulumi-cloudinfra ${command}`);
    },
  );

  it("npm start takes the options that are given to it", () => {
    const given = quoted(readme).flatMap((text) => /^npm start -- (.+)/.exec(text)?.[1] ?? []);
    expect(given).toEqual(["--keep"]);
    expect(given.map((option) => parseOptions([option]))).toEqual([{ keep: true, engine: undefined }]);
  });
});

describe("what the README shows", () => {
  it("fits on a few screens: under 200 lines", () => {
    expect(readme.split("\n").length).toBeLessThan(200);
  });

  it("is the Node.js that the package asks for", () => {
    const [, version] = /^Node\.js ([\d.]+) or later/m.exec(readme) ?? [];
    expect(`>=${version}`).toBe(manifest.engines.node);
  });

  it("is the progress that a row has", () => {
    const rows: string[] = [];
    const log = { write: async (text: string) => void rows.push(text) };
    const progress = new Progress(log, "creating", { clock: new FakeClock(), inCi: false });
    progress.show({ progress: 0.42, remainingMs: 18_000 });
    expect(quoted(readme)).toContain(rows[0]);
  });

  it("are functions that exist", () => {
    const named = [...readme.matchAll(/`(Project|Instance)\.(\w+)`/g)].map(([, type, name]) => [type, name]);
    expect(named).toContainEqual(["Instance", "get"]);
    const { Project, Instance } = cloudinfra;
    for (const [type, name = ""] of named)
      expect(Reflect.get(type === "Project" ? Project : Instance, name), name).toBeTypeOf("function");
  });
});

describe.each([".", ...examples])("the README of %s", (folder) => {
  const text = readMarkdown(path.join(folder, "README.md"));

  it("links to files that exist", () => {
    const links = relativeLinks(text);
    expect(links.filter((link) => !existsSync(path.join(REPOSITORY, folder, link)))).toEqual([]);
    if (folder === ".") expect(links).toEqual(expect.arrayContaining(examples));
  });
});

const programs = examples.filter((folder) => existsSync(path.join(REPOSITORY, folder, "index.ts")));

describe.each(programs)("%s", (folder) => {
  it("reads each setting of its own that its README says to set", () => {
    const commands = fenced(readMarkdown(`${folder}/README.md`), "sh").join("\n");
    const settings = [...commands.matchAll(/pulumi config set (?:--\w+ )*([\w:]+)/g)].flatMap(
      ([, name]) => name ?? [],
    );
    if (!commands.includes("npm test")) expect(settings).toContain("cloudinfra:endpoint");
    const program = readMarkdown(`${folder}/index.ts`);
    const own = settings.filter((name) => !name.includes(":"));
    expect(own.filter((name) => !program.includes(`"${name}"`))).toEqual([]);
  });
});
