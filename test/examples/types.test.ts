import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { complaints } from "../harness/compiler";
import { linkModules, REPOSITORY } from "../harness/modules";

const folders: string[] = [];

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
