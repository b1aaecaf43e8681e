import * as pulumi from "@pulumi/pulumi";
import { afterEach, expect, test, vi } from "vitest";
import { warnOfTokenInClear } from "../../src/resources/dynamic-resource";

afterEach(() => {
  pulumi.runtime.setAllConfig({});
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("a secret token causes no warning in an inline program, whose settings are not in the environment", () => {
  const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
  vi.stubEnv("PULUMI_CONFIG_SECRET_KEYS", undefined);
  pulumi.runtime.setAllConfig({ "cloudinfra:token": "t-123456" }, ["cloudinfra:token"]);
  warnOfTokenInClear();
  expect(warn.mock.calls).toEqual([]);
});
