import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import { shortenTraces, warnOfTokenInClear } from "../../src/resources/dynamic-resource";
import { one, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };

/** The value of an output, and whether it is a secret. */
const told = <T>(output: pulumi.Output<T>): Promise<[T, boolean]> =>
  new Promise((resolve) => output.apply(async (value) => resolve([value, await pulumi.isSecret(output)])));

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the import option", () => {
  test.each([
    ["Project", (id: string) => new Project("shop", { region: "eu-1" }, { import: id }), "prj-1"],
    ["Instance", (id: string) => new Instance("web", args, { import: id }), "ins-1"],
  ])("of %s is passed to the provider as an input, and not to the host", async (_kind, make, id) => {
    const seen = await one(() => make(id));
    expect(seen.inputs).toMatchObject({ __import: id });
    expect(seen.id).toBe(""); // an id here would make the engine ask the host to import
    const [refused] = await registered(() => {
      expect(() => make("")).toThrow(
        /^cloudinfra: "(shop|web)" can't be imported: the `import` option must be the id of the object, as a string/,
      );
    });
    expect(refused).toBeUndefined();
  });
});

test.each<[string, pulumi.CustomResourceOptions]>([
  ["id", { id: "ins-1" }],
  ["urn", { urn: "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::web" }],
])(
  "the option `%s`, which only reads an object, is an error beside `import`, which adopts one",
  async (name, option) => {
    const seen = await registered(() => {
      expect(() => new Instance("web", args, { ...option, import: "ins-1" })).toThrow(
        'cloudinfra: "web" has the option `import` and the option `id` or `urn`.',
      );
    });
    expect(seen, name).toEqual([]);
  },
);

describe("`get`", () => {
  test.each([
    ["Project", () => Project.get("shop", "prj-1"), ["__provider", "__urn"]],
    ["Instance", () => Instance.get("web", "ins-1"), ["__provider", "__urn"]],
  ])("of %s reads by id, without arguments, key or timeouts", async (_kind, get, hidden) => {
    const { id, inputs } = await one(get);
    expect(id).toMatch(/^(prj|ins)-1$/);
    expect(Object.keys(inputs).sort()).toEqual(hidden);
  });
});

describe("outputs", () => {
  const outputs = { status: "running", ipAddress: "203.0.113.7", additionalProperties: { password: "p" } };

  test("of an instance are those that the provider returned", async () => {
    const found = await new Promise((resolve) => {
      void registered(
        async () => {
          const { name, status, ipAddress, id } = new Instance("web", { ...args, name: "front" });
          resolve(await told(pulumi.all([name, status, ipAddress, id])));
        },
        { outputs: () => outputs },
      );
    });
    expect(found).toEqual([["front", "running", "203.0.113.7", "web-id"], false]);
  });

  test.each([
    [
      "an instance: additionalProperties, what was sent, and remote values",
      (options: pulumi.CustomResourceOptions) => new Instance("web", args, options),
      ["additionalProperties", "__pending", "__words", "__applied"],
    ],
    [
      "a project: what was sent, and remote values",
      (options: pulumi.CustomResourceOptions) => new Project("shop", { region: "eu-1" }, options),
      ["__pending", "__words", "__applied"],
    ],
  ])(
    "are secret for %s, in addition to those that the program names, and other options stay",
    async (_what, make, secrets) => {
      const options = { additionalSecretOutputs: ["ipAddress"], protect: true };
      let seen: object = {};
      await registered(() => make(options), {
        onRequest: (request) => {
          seen = { secrets: request.getAdditionalsecretoutputsList(), protect: request.getProtect() };
        },
      });
      expect(seen).toEqual({ secrets: ["ipAddress", ...secrets], protect: true });
    },
  );
});

describe("a program whose folder does not resolve the package", () => {
  test("fails with a hint before it registers anything", async () => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "program-")));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    vi.spyOn(process, "cwd").mockReturnValue(folder);
    const seen = await registered(() => {
      expect(() => new Instance("web", args)).toThrow(
        `cloudinfra: "web" can't be managed, because the program's folder (${folder}) does not resolve`,
      );
      expect(() => new Project("shop", { region: "eu-1" })).toThrow("npm install pulumi-cloudinfra");
    });
    expect(seen).toEqual([]);
  });
});

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}

describe("the length of stack traces", () => {
  const limit = Error.stackTraceLimit;
  afterEach(() => {
    Error.stackTraceLimit = limit;
  });

  test.each([
    ["an instance", () => new Instance("web", args)],
    ["a project", () => new Project("shop", { region: "eu-1" })],
  ])("is restored after the declaration of %s", async (_what, make) => {
    Error.stackTraceLimit = 7;
    await one(make);
    expect(Error.stackTraceLimit).toBe(7);
  });

  test("is restored after an error of the constructor, which has the stack trace of its caller", () => {
    Error.stackTraceLimit = 7;
    const broken = (): unknown => new Instance("", args);
    const error = thrownBy(broken);
    expect(error.stack).toMatch(/broken.*dynamic-resource\.test/);
    expect(error.stack).toContain(error.message);
    expect(Error.stackTraceLimit).toBe(7);
  });

  test("isn't reduced for a resource that is only read, because the SDK shows the stack trace if the object doesn't exist", () => {
    Error.stackTraceLimit = 7;
    const endLookup = shortenTraces(true);
    expect(new Error("made beforehand").stack).toMatch(/dynamic-resource\.test/);
    endLookup();
    const endOther = shortenTraces(false);
    expect(new Error("of a promise").stack).not.toMatch(/dynamic-resource\.test/);
    endOther();
    expect(Error.stackTraceLimit).toBe(7);
  });
});

describe("a token in the stack's settings", () => {
  const modulePath = "../../src/resources/dynamic-resource";
  const freshProgram = () => {
    vi.resetModules();
    return vi.importActual<typeof import("../../src/resources/dynamic-resource")>(modulePath);
  };

  /** Returns the warnings of a program with these settings, some of them secret, that declares three resources. */
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

  test("causes no warning in an inline program if it is a secret, although the settings aren't in the environment", () => {
    const warn = vi.spyOn(pulumi.log, "warn").mockResolvedValue();
    vi.stubEnv("PULUMI_CONFIG_SECRET_KEYS", undefined);
    pulumi.runtime.setAllConfig({ "cloudinfra:token": "t-123456" }, ["cloudinfra:token"]);
    warnOfTokenInClear();
    expect(warn.mock.calls).toEqual([]);
  });
});
