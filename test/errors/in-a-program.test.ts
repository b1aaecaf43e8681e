import type { Stack } from "@pulumi/pulumi/automation";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { withEmulator } from "../../src/testing";
import { installed, rewrite } from "../examples/installed";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { fenced, readMarkdown, section } from "../readme/markdown";

const [, automation = ""] = fenced(section(readMarkdown("docs/errors.md"), "In a program"), "ts");

describe("a program that handles error codes, as in docs/errors.md", () => {
  it.runIf(pulumiOnPath())("refreshes and retries after a conflict, with the Automation API", async () => {
    const program = installed("quickstart");
    const env = { PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
    const react: (stack: Stack) => Promise<void> = new Function(
      "stack",
      `return (async () => {${ts.transpile(automation, { target: ts.ScriptTarget.ES2022 })}})()`,
    ) as never;
    await withEmulator({ program, env }, async ({ stack, emulator, fault }) => {
      await stack.up();
      rewrite(program, (text) => text.replace('"small"', '"tiny"'));
      const change = fault("concurrent-change");
      await react(stack);
      expect(change.used).toBe(1);
      const flavors = [...emulator.instances.values()].map(({ fields }) => fields.flavor);
      expect(flavors.sort()).toEqual(["large", "medium", "tiny"]);
      await stack.preview({ expectNoChanges: true });
    });
  });
});
