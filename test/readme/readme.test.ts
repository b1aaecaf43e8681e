import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseOptions } from "../../demo/options";
import { REPOSITORY } from "../harness/modules";
import { fenced, quoted, readMarkdown, relativeLinks } from "./markdown";

const readme = readMarkdown("README.md");
const manifest: { scripts: object; bin: Record<string, string>; engines: { node: string } } = JSON.parse(
  readFileSync(path.join(REPOSITORY, "package.json"), "utf8"),
);
const examples = readdirSync(path.join(REPOSITORY, "examples")).map((name) => `examples/${name}`);

/** Returns what follows some words in the pages for users and contributors. */
const wordsAfter = (words: string): string[] =>
  [...`${readme}${readMarkdown("CONTRIBUTING.md")}`.matchAll(new RegExp(`\\b${words} ([a-z][\\w:]*)`, "g"))]
    .flatMap(([, word]) => word ?? [])
    .filter((word, index, all) => all.indexOf(word) === index);

describe("the commands that README.md and CONTRIBUTING.md name", () => {
  const scripts = [
    ...wordsAfter("npm").filter((word) => ["start", "test"].includes(word)),
    ...wordsAfter("npm run"),
  ];

  it.each(scripts)("include npm's %s, which is a script of the package", (script) => {
    expect(manifest.scripts).toHaveProperty([script], expect.stringMatching(/\S/));
  });

  it.each(wordsAfter("npx pulumi-cloudinfra"))(
    "include npx pulumi-cloudinfra %s, which is a command",
    (command) => {
      const main = path.join(REPOSITORY, manifest.bin["pulumi-cloudinfra"] ?? "");
      const help = execFileSync(process.execPath, [main, command, "--help"], { encoding: "utf8" });
      expect(help).toContain(`pulumi-cloudinfra ${command}`);
    },
  );

  it("include only options of npm start that it accepts", () => {
    const given = quoted(readMarkdown("CONTRIBUTING.md")).flatMap(
      (text) => /^npm start -- (.+)/.exec(text)?.[1] ?? [],
    );
    expect(given).toEqual(["--keep"]);
    expect(given.map((option) => parseOptions([option]))).toEqual([{ keep: true, engine: undefined }]);
  });
});

describe("the README", () => {
  it("has at most 120 lines", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(120);
  });

  it("names the version of Node.js that the package requires", () => {
    for (const page of [readme, readMarkdown("docs/getting-started.md"), readMarkdown("CONTRIBUTING.md")]) {
      const [, version] = /Node\.js(?:\]\([^)]*\))? ([\d.]+) (?:or|and) later/.exec(page) ?? [];
      expect(`>=${version}`).toBe(manifest.engines.node);
    }
  });

  it("reaches a running stack in at most five commands", () => {
    const [clone = "", quickstart = ""] = fenced(readme, "sh");
    expect(clone).toContain("npm ci && npm start");
    expect(quickstart.trim().split("\n").length).toBeLessThanOrEqual(5);
    expect(quickstart).toMatch(/^pulumi up$/m);
  });

  it("links to every example", () => {
    expect(relativeLinks(readme)).toEqual(
      expect.arrayContaining(examples.map((folder) => `${folder}/README.md`)),
    );
  });
});

const programs = examples.filter((folder) => existsSync(path.join(REPOSITORY, folder, "index.ts")));

describe.each(programs)("%s", (folder) => {
  it("reads each setting of its own that its README sets", () => {
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
