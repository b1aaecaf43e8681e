import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { typeErrors } from "../harness/compiler";
import { REPOSITORY } from "../harness/modules";
import { outside, rewrite } from "./installed";

interface Program {
  readonly name: string;
  /** Relative to the repository. */
  readonly folder: string;
  readonly settings: { compilerOptions: Record<string, unknown>; files: string[] };
}

const folders = readdirSync(path.join(REPOSITORY, "examples")).map((name) => `examples/${name}`);
const programs = [...folders, "template"].flatMap((folder): Program[] => {
  const settings = path.join(REPOSITORY, folder, "tsconfig.json");
  if (!existsSync(settings)) return [];
  return [{ name: path.basename(folder), folder, settings: JSON.parse(readFileSync(settings, "utf8")) }];
});

/** The copies of each program: CommonJS, ECMAScript modules, and one with a wrong argument. */
const KINDS = ["commonjs", "module", "wrong"] as const;

/** In ECMAScript modules, imports between files need an extension that Pulumi's runner rejects in CommonJS. */
const isPossible = (kind: (typeof KINDS)[number], name: string): boolean =>
  kind !== "module" || name !== "policies";

/** Puts all copies side by side, because the compiler is slow. */
function together(): string {
  const dir = outside();
  const files = KINDS.flatMap((kind) =>
    programs.flatMap(({ name, folder, settings }) => {
      if (!isPossible(kind, name)) return [];
      const copy = path.join(dir, kind, name);
      cpSync(path.join(REPOSITORY, folder), copy, { recursive: true });
      setPackageType(copy, kind === "module" ? "module" : "commonjs");
      if (kind === "wrong")
        rewrite(copy, (program) => program.replace(/(?<=flavor: )"\w+"|(?<=policies: \[)\w+/, "1"));
      return settings.files.map((file) => `${kind}/${name}/${file}`);
    }),
  );
  const all = programs.map(({ settings }) => settings.compilerOptions);
  const compilerOptions = Object.assign({}, ...all, { skipLibCheck: false });
  writeFileSync(path.join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  return dir;
}

/** Sets the kind of modules in package.json. */
function setPackageType(dir: string, type: "commonjs" | "module"): void {
  const file = path.join(dir, "package.json");
  const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(Object.assign({}, manifest, { type })));
}

describe("the examples and the template", () => {
  let said: readonly string[] = [];
  beforeAll(async () => {
    said = (await typeErrors(together())).split("\n").filter(Boolean);
  });
  const saidOf = (place: string): string[] => said.filter((line) => line.startsWith(place));

  it("are complete, and have the same compiler settings", () => {
    expect(programs.map(({ name }) => name)).toEqual(expect.arrayContaining(["quickstart", "template"]));
    // Lets tests import files with extensions, as Node.js requires. Pulumi's runner accepts no other option for that.
    const forTests = { rewriteRelativeImportExtensions: true };
    const special: Record<string, object> = {
      testing: forTests,
      policies: { ...forTests, skipLibCheck: true },
    };
    for (const { name, settings } of programs) {
      expect(settings.files, name).toContain("index.ts");
      expect(settings.compilerOptions, name).toEqual({
        ...programs[0]?.settings.compilerOptions,
        ...special[name],
      });
    }
  });

  it("type-check under strict, as CommonJS programs and as ECMAScript modules", () => {
    // The types of @pulumi/policy 1.21 don't type-check themselves.
    const isOurs = (line: string) => !/^(wrong\/| )|@pulumi\/policy/.test(line);
    expect(said.filter(isOurs)).toEqual([]);
  });

  it.each(programs)("don't type-check if an argument is wrong: $name", ({ name }) => {
    expect(saidOf(`wrong/${name}/index.ts`)).not.toEqual([]);
  });
});
