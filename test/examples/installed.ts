import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, onTestFinished } from "vitest";
import { linkModules, REPOSITORY } from "../harness/modules";
import { isolatedEnvironment } from "../harness/pulumi-environment";

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Creates a folder outside the repository, with this package installed. */
export function outside(): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-example-"));
  folders.push(dir);
  linkModules(dir, ["@pulumi/pulumi", "@pulumi/policy", "@pulumi/cloudflare", "@types/node", "typescript"]);
  return dir;
}

/** Copies an example outside the repository. */
export function installed(example: string): string {
  const dir = outside();
  cpSync(path.join(REPOSITORY, "examples", example), dir, { recursive: true });
  return dir;
}

/** Changes a file in `dir`, by default the program. Throws if nothing changes. Returns the former text. */
export function rewrite(dir: string, change: (program: string) => string, name = "index.ts"): string {
  const file = path.join(dir, name);
  const program = readFileSync(file, "utf8");
  const changed = change(program);
  if (changed === program) throw new Error(`${file} has nothing to change`);
  writeFileSync(file, changed);
  return program;
}

/** Returns what `npm test` prints for one file of an example. Fails if a test fails. */
export async function tested(dir: string, file: string): Promise<string> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-testing-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const env = {
    ...process.env,
    ...isolatedEnvironment(root),
    PULUMI_NODEJS_TRANSPILE_ONLY: "true", // the types have their own test
    NODE_COMPILE_CACHE: path.join(REPOSITORY, "node_modules/.cache/compiled"),
    NODE_TEST_CONTEXT: undefined,
    NODE_OPTIONS: undefined,
  };
  const shell = process.platform === "win32"; // on Windows, npm is a script
  const { stdout } = await promisify(execFile)("npm", ["test", "--", file], { cwd: dir, env, shell });
  return stdout;
}

/** Matches the output of `tested` if this many tests have passed. */
export const passed = (count: number): RegExp => new RegExp(`pass ${count}\\n.*fail 0\\n.*\\n.*skipped 0\\n`);
