import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll } from "vitest";
import { linkModules, REPOSITORY } from "../harness/modules";

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A copy of an example outside the repository, where it sees the package only as an installed one. */
export function installed(example: string, packageType: "commonjs" | "module"): string {
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
