import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Probe } from "./fixtures/probe";

function open(task: string): Probe {
  const probe = new Probe({ config: { task } });
  onTestFinished(() => probe.dispose());
  return probe;
}

test("fails without hanging if the provider process dies during a call", async () => {
  const probe = open("die");
  const { ok, diagnostics } = await probe.run("up");
  expect(ok).toBe(false);
  expect(diagnostics.map((d) => d.message)).toContain(
    "the provider process was ended by SIGKILL during Create",
  );
  expect((await probe.stack.deployment()).pending_operations).toBeUndefined();
});

test("fails with the message of a program that throws, and deletes nothing", async () => {
  const probe = open("");
  await probe.run("up");
  await probe.stack.setConfig("task", "throw");
  const { ok, diagnostics, changes } = await probe.run("up");
  expect(ok).toBe(false);
  expect(diagnostics[0]?.message).toContain("the program gives up");
  expect(changes).toEqual({ same: 1 });
  expect(await probe.resource("probe")).toBeDefined();
});

test("fails with the exit code of a program that ends early, and deletes nothing", async () => {
  const probe = open("");
  await probe.run("up");
  await probe.stack.setConfig("task", "exit");
  const { ok, diagnostics } = await probe.run("up");
  expect(ok).toBe(false);
  expect(diagnostics.map((d) => d.message)).toContain("the program exited with code 3");
  expect(await probe.resource("probe")).toBeDefined();
});

test("rejects a resource of another provider with an explanation", async () => {
  const probe = open("other provider");
  const { ok, diagnostics } = await probe.run("preview");
  expect(ok).toBe(false);
  expect(diagnostics.map((d) => d.message)).toContain(
    "the fake engine runs dynamic resources only, not those of aws (aws:s3/bucket:Bucket)",
  );
});

test("rejects a folder without Pulumi.yaml", async () => {
  const probe = open("");
  fs.rmSync(path.join(probe.folder.dir, "Pulumi.yaml"));
  await expect(probe.run("preview")).rejects.toThrow("no Pulumi.yaml");
});
