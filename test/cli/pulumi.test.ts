import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { programFolder } from "../../src/cli/pulumi";

/** Creates a folder with a project file, and a program in `src/index.ts`. */
function project(settings: string, file = "Pulumi.yaml"): string {
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-project-")));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  mkdirSync(path.join(dir, "src/deep"), { recursive: true });
  writeFileSync(path.join(dir, "src/index.ts"), "");
  writeFileSync(path.join(dir, file), settings);
  return dir;
}

describe("the program's folder", () => {
  it("is the folder of Pulumi.yaml, found from any folder below it", () => {
    const dir = project("name: app\nruntime: nodejs\n");
    expect(programFolder(dir)).toBe(dir);
    expect(programFolder(path.join(dir, "src/deep"))).toBe(dir);
  });

  it.each([
    "main: src/index.ts",
    "main: src/",
    "main: ./src   # the program",
    'main: "src/index.ts"',
    "main: 'src' # quoted",
    "main:   src/index.ts\r",
    "main:\n  src",
  ])("is the folder that `%s` names", (line) => {
    const dir = project(`name: app\n${line}\nruntime: nodejs\nconfig:\n  main: elsewhere\n`);
    expect(programFolder(dir)).toBe(path.join(dir, "src"));
  });

  it("is the folder that `main` names in a JSON project file or in Pulumi.yml", () => {
    const json = project('{"name":"app","main":"src"}', "Pulumi.json");
    const short = project("main: src\n", "Pulumi.yml");
    expect(programFolder(json)).toBe(path.join(json, "src"));
    expect(programFolder(short)).toBe(path.join(short, "src"));
  });

  it("is the real path of a link, which the processes of Pulumi use", () => {
    const dir = project("name: app\n");
    const link = path.join(dir, "link");
    symlinkSync(path.join(dir, "src"), link);
    writeFileSync(path.join(dir, "Pulumi.yaml"), "main: link\n");
    expect(programFolder(dir)).toBe(path.join(dir, "src"));
  });

  it("is an error if there is no project, if `main` doesn't exist, or if the file is damaged", () => {
    const dir = project("main: lib/index.ts\n");
    expect(() => programFolder(dir)).toThrow(path.join(dir, "lib/index.ts"));
    expect(() => programFolder(path.parse(dir).root)).toThrow("no Pulumi.yaml");
    expect(() => programFolder(project("name: app\nmain: src: token-1\n"))).toThrow(
      /bad indentation of a mapping entry in line 2(?!.*token-1)/s,
    );
  });
});
