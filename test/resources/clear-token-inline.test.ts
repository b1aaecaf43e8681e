import * as pulumi from "@pulumi/pulumi";
import { expect, test, vi } from "vitest";
import { warnOfTokenInClear } from "../../src/resources/dynamic-resource";

test("a secret token causes no warning in an inline program, whose settings are not in the environment", () => {
  const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
  vi.stubEnv("PULUMI_CONFIG_SECRET_KEYS", undefined);
  pulumi.runtime.setAllConfig({ "cloudinfra:token": "t-123456" }, ["cloudinfra:token"]);
  warnOfTokenInClear();
  expect(warn.mock.calls).toEqual([]);
});
