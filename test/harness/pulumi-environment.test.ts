import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { isolatedEnvironment, pulumiOnPath } from "./pulumi-environment";

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-environment-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

it("removes the user's settings, and places home and state in its folder", () => {
  vi.stubEnv("PULUMI_ACCESS_TOKEN", "users-own");
  vi.stubEnv("PULUMI_BACKEND_URL", "https://example.com");
  vi.stubEnv("CLOUDINFRA_TOKEN", "users-own");
  const environment = { ...process.env, ...isolatedEnvironment(root) };
  expect(environment).toMatchObject({
    PULUMI_ACCESS_TOKEN: undefined,
    CLOUDINFRA_TOKEN: undefined,
    PULUMI_HOME: path.join(root, "home"),
    PULUMI_BACKEND_URL: `file://${root}/state`,
  });
});

it("finds the first executable `pulumi` on PATH", () => {
  const [first, second] = ["first", "second"].map((name) => mkdtempSync(path.join(root, name)));
  const file = path.join(second ?? "", "pulumi");
  writeFileSync(path.join(first ?? "", "pulumi"), "", { mode: 0o644 });
  expect(pulumiOnPath(`${first}:${second}`)).toBeUndefined();
  writeFileSync(file, "", { mode: 0o755 });
  expect(pulumiOnPath(`${first}:${second}`)).toBe(file);
});
