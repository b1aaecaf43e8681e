import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { complaints } from "../harness/compiler";
import { REPOSITORY } from "../harness/modules";
import { outside, rewrite, setPackageType } from "./installed";

interface Program {
  readonly name: string;
  /** Seen from the repository. */
  readonly folder: string;
  readonly settings: { compilerOptions: Record<string, unknown>; files: string[] };
}

const folders = readdirSync(path.join(REPOSITORY, "examples")).map((name) => `examples/${name}`);
const programs = [...folders, "template"].flatMap((folder): Program[] => {
  const settings = path.join(REPOSITORY, folder, "tsconfig.json");
  if (!existsSync(settings)) return [];
  return [{ name: path.basename(folder), folder, settings: JSON.parse(readFileSync(settings, "utf8")) }];
});

/** All of them side by side as one program, for the compiler takes its time. */
function together(packageType: "commonjs" | "module"): string {
  const dir = outside();
  for (const { name, folder } of programs) {
    mkdirSync(path.join(dir, name));
    cpSync(path.join(REPOSITORY, folder), path.join(dir, name), { recursive: true });
    setPackageType(path.join(dir, name), packageType);
  }
  const compilerOptions = Object.assign({}, ...programs.map(({ settings }) => settings.compilerOptions));
  const files = programs.flatMap(({ name, settings }) => settings.files.map((file) => `${name}/${file}`));
  writeFileSync(path.join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  return dir;
}

describe("the examples and the template", () => {
  it("are all there, with the same settings of the compiler", () => {
    expect(programs.map(({ name }) => name)).toEqual(expect.arrayContaining(["quickstart", "template"]));
    // So that one may import the program by its name as Node.js asks for it. Pulumi's runner takes no other option for that.
    const forTests = { rewriteRelativeImportExtensions: true };
    for (const { name, settings } of programs) {
      const own = name === "testing" ? forTests : {};
      expect(settings.files, name).toContain("index.ts");
      expect(settings.compilerOptions, name).toEqual({ ...programs[0]?.settings.compilerOptions, ...own });
    }
  });

  it("type-check under strict as CommonJS programs", async () => {
    expect(await complaints(together("commonjs"))).toBe("");
  });

  it("type-check under strict as ECMAScript modules", async () => {
    expect(await complaints(together("module"), "--module", "nodenext")).toBe("");
  });

  it("do not type-check once an argument is wrong", async () => {
    const dir = together("commonjs");
    for (const { name } of programs)
      rewrite(path.join(dir, name), (program) => program.replace(/flavor: "\w+"/, "flavor: 1"));
    const said = (await complaints(dir)).split("\n");
    const silent = programs.filter(({ name }) => !said.some((line) => line.startsWith(`${name}/index.ts`)));
    expect(silent.map(({ name }) => name)).toEqual([]);
  });
});
