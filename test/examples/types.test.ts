import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { complaints } from "../harness/compiler";
import { installed } from "./installed";

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
