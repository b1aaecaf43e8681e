import { describe, expect, it } from "vitest";
import { withEmulator } from "../../src/testing";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { installed, passed, rewrite, tested } from "./installed";

const pulumi = pulumiOnPath();
if (!pulumi) console.warn("!!! No `pulumi` on PATH: examples/policies is tested WITHOUT a stack. !!!");

const VIOLATION = 'web has publicIp "auto". Remove the argument, or set it to "none".';

describe("the policy pack of examples/policies", () => {
  it("has a test that passes, and fails once the policy is wrong", async () => {
    const dir = installed("policies");
    expect(await tested(dir, "policies.test.mts")).toMatch(passed(1));
    rewrite(dir, (policies) => policies.replace('publicIp !== "none"', 'publicIp !== "auto"'), "policies.ts");
    await expect(tested(dir, "policies.test.mts")).rejects.toMatchObject({
      stdout: expect.stringContaining("fail 1\n"),
    });
  });

  it.runIf(pulumi)(
    "makes the real CLI reject an instance with a public address, and nothing else",
    async () => {
      const policyPacks = [installed("policies")];
      const program = installed("quickstart");
      const env = { PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
      await withEmulator({ program, env }, async ({ stack, emulator }) => {
        await expect(stack.preview({ policyPacks })).rejects.toThrow(VIOLATION);
        await expect(stack.up({ policyPacks })).rejects.toThrow(VIOLATION);
        const has = (name: string) =>
          [...emulator.instances.values()].some(({ fields }) => String(fields.name).startsWith(name));
        expect(has("web")).toBe(false);
        rewrite(program, (text) => text.replace('publicIp: "auto"', 'publicIp: "none"'));
        await stack.up({ policyPacks });
        expect(has("web")).toBe(true);
      });
    },
  );
});
