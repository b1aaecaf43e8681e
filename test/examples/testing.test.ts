import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { installed, passed, rewrite, tested } from "./installed";

const pulumi = pulumiOnPath();
if (!pulumi)
  console.warn(
    "!!! No `pulumi` on PATH: examples/testing/emulator.test.mts is type-checked ONLY, not run. !!!",
  );

describe("the tests of examples/testing", () => {
  it("pass with mocks, and fail if the program is wrong", async () => {
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
