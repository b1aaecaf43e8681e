import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { REPOSITORY } from "../harness/modules";
import { isolatedEnvironment, pulumiOnPath } from "../harness/pulumi-environment";
import { installed, rewrite } from "./installed";

const pulumi = pulumiOnPath();
if (!pulumi)
  console.warn(
    "!!! No `pulumi` on PATH: examples/testing/emulator.test.mts is type-checked ONLY, not run. !!!",
  );

/** What `npm test` says of one file of the example; an error where a test fails. */
async function tested(dir: string, file: string): Promise<string> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-testing-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const env = {
    ...process.env,
    ...isolatedEnvironment(root),
    PULUMI_NODEJS_TRANSPILE_ONLY: "true", // the types have a test of their own
    NODE_COMPILE_CACHE: path.join(REPOSITORY, "node_modules/.cache/compiled"),
    NODE_TEST_CONTEXT: undefined,
    NODE_OPTIONS: undefined,
  };
  const shell = process.platform === "win32"; // there, npm is a script
  const { stdout } = await promisify(execFile)("npm", ["test", "--", file], { cwd: dir, env, shell });
  return stdout;
}

const passed = (count: number): RegExp => new RegExp(`pass ${count}\\n.*fail 0\\n.*\\n.*skipped 0\\n`);

describe("the tests of examples/testing", () => {
  it("pass with mocks, and fail once the program is wrong", async () => {
    const dir = installed("testing");
    expect(await tested(dir, "mocks.test.mts")).toMatch(passed(3));
    rewrite(dir, (program) => program.replace('team: "shop"', 'team: "other"'));
    await expect(tested(dir, "mocks.test.mts")).rejects.toMatchObject({
      stdout: expect.stringContaining("fail 1\n"),
    });
  });

  it.runIf(pulumi)("pass with the real CLI, and leave nothing in the program's folder", async () => {
    const dir = installed("testing");
    const before = readdirSync(dir);
    expect(await tested(dir, "emulator.test.mts")).toMatch(passed(1));
    expect(readdirSync(dir)).toEqual(before);
  });
});
