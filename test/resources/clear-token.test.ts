import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";

const path = "../../src/resources/dynamic-resource";
const freshProgram = () => {
  vi.resetModules();
  return vi.importActual<typeof import("../../src/resources/dynamic-resource")>(path);
};

/** Warnings of a program with these settings, some of them secret, that declares three resources. */
async function warnings(config: Record<string, string>, secretKeys: string[], environment = secretKeys) {
  const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
  pulumi.runtime.setAllConfig(config, secretKeys);
  vi.stubEnv("PULUMI_CONFIG_SECRET_KEYS", JSON.stringify(environment));
  const { warnOfTokenInClear } = await freshProgram();
  for (let i = 0; i < 3; i++) warnOfTokenInClear();
  return warn.mock.calls.map(([message]) => message);
}

const MOCKS = { call: () => ({}), newResource: () => ({ id: "", state: {} }) };

beforeEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await pulumi.runtime.setMocks(MOCKS); // begins another run of a program
});

afterAll(() => {
  pulumi.runtime.setAllConfig({});
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe("a token in the stack's settings", () => {
  test("in plaintext causes one warning per program, which doesn't contain the token", async () => {
    const [warning, ...more] = await warnings({ "cloudinfra:token": "t-123456" }, []);
    expect(warning).toContain("pulumi config set --secret cloudinfra:token");
    expect(warning).not.toContain("t-123456");
    expect(more).toEqual([]);
  });

  test("causes the same warning as the client secret of an exchange", async () => {
    const config = {
      "cloudinfra:oidcIssuer": "https://sts.example.com",
      "cloudinfra:oidcClientSecret": "t-123456",
    };
    const [warning, ...more] = await warnings(config, []);
    expect(warning).toContain("pulumi config set --secret cloudinfra:oidcClientSecret");
    expect(warning).not.toContain("t-123456");
    expect(more).toEqual([]);
  });

  test.each(["cloudinfra:token", "cloudinfra:oidcClientSecret"])(
    "causes no warning if it is a secret: %s",
    async (key) => {
      expect(await warnings({ [key]: "t-123456" }, [key])).toEqual([]);
    },
  );

  test("causes no warning if it is not set", async () => {
    expect(await warnings({ "cloudinfra:tokenFile": "token.txt" }, [])).toEqual([]);
  });

  test("causes a warning in each run of an inline program in the same process, once", async () => {
    const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
    pulumi.runtime.setAllConfig({ "cloudinfra:token": "t-123456" }, []);
    const { warnOfTokenInClear } = await freshProgram();
    for (const stack of ["one", "two"]) {
      await pulumi.runtime.setMocks(MOCKS, "app", stack);
      warnOfTokenInClear();
      warnOfTokenInClear();
    }
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test("causes one warning if a library of the program brings a copy of this package", async () => {
    const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
    pulumi.runtime.setAllConfig({ "cloudinfra:token": "t-123456" }, []);
    for (const copy of [await freshProgram(), await freshProgram()]) copy.warnOfTokenInClear();
    expect(warn).toHaveBeenCalledOnce();
  });
});
