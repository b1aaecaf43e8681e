import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { linkModules, REPOSITORY } from "../harness/modules";

const TSC = path.join(REPOSITORY, "node_modules/typescript/bin/tsc");
const folders: string[] = [];
const run = promisify(execFile);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A copy of an example outside the repository, where it sees the package only as an installed one. */
function installed(example: string, packageType: "commonjs" | "module"): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-example-"));
  folders.push(dir);
  cpSync(path.join(REPOSITORY, "examples", example), dir, { recursive: true });
  linkModules(dir, ["@pulumi/pulumi", "@pulumi/cloudflare", "@types/node"]);
  const manifest: unknown = JSON.parse(readFileSync(path.join(dir, "package.json"), "utf8"));
  writeFileSync(
    path.join(dir, "package.json"),
    JSON.stringify(Object.assign({}, manifest, { type: packageType })),
  );
  return dir;
}

/** What the compiler says about the folder's program; nothing, if it is right. */
async function complaints(dir: string, ...options: string[]): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [TSC, "-p", dir, "--strict", ...options]);
    return stdout;
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout) || error.message;
    throw error;
  }
}

describe.each(["quickstart", "beside-other-clouds"])("the example %s", (example) => {
  it("type-checks under strict as a CommonJS program", async () => {
    expect(await complaints(installed(example, "commonjs"))).toBe("");
  });

  it("type-checks under strict as an ECMAScript module", async () => {
    expect(await complaints(installed(example, "module"), "--module", "nodenext")).toBe("");
  });

  it("does not type-check once an argument is wrong", async () => {
    const dir = installed(example, "commonjs");
    const file = path.join(dir, "index.ts");
    const source = readFileSync(file, "utf8");
    writeFileSync(file, source.replace('region: "eu-1"', "region: 1"));
    expect(await complaints(dir)).toContain("Type 'number' is not assignable to type 'Input<string>'");
  });
});
