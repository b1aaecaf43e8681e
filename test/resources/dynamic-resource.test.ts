import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
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
