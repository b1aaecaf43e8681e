import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll } from "vitest";
import { linkModules, REPOSITORY } from "../harness/modules";

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** A folder outside the repository that sees the package only as an installed one. */
export function outside(): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-example-"));
  folders.push(dir);
  linkModules(dir, ["@pulumi/pulumi", "@pulumi/cloudflare", "@types/node", "typescript"]);
  return dir;
}

/** A copy of an example outside the repository. */
export function installed(example: string): string {
  const dir = outside();
  cpSync(path.join(REPOSITORY, "examples", example), dir, { recursive: true });
  return dir;
}

/** Changes the program in `dir`, which must not stay as it was. Tells what it was. */
export function rewrite(dir: string, change: (program: string) => string): string {
  const file = path.join(dir, "index.ts");
  const program = readFileSync(file, "utf8");
  const changed = change(program);
  if (changed === program) throw new Error(`${file} has nothing to change`);
  writeFileSync(file, changed);
  return program;
}
