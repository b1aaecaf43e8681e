import * as pulumi from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import * as provider from "../../src/provider";
import { one, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the registered inputs", () => {
  test("of an instance are exactly its arguments and the hidden inputs", async () => {
    const { type, name, inputs } = await one(() => new Instance("web", args));
    expect({ type, name }).toEqual({ type: "pulumi-nodejs:dynamic/cloudinfra:Instance", name: "web" });
    expect(inputs).toEqual({
      ...args,
      __provider: 'exports.handler=()=>require("pulumi-cloudinfra/provider").instance',
      __urn: "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance::web",
      __key: expect.stringMatching(UUID_V4),
      __keyAt: expect.any(Number),
    });
  });

  test("of a project are exactly its arguments and the hidden inputs", async () => {
    const { type, inputs } = await one(() => new Project("shop", { region: "eu-1" }));
    expect(type).toBe("pulumi-nodejs:dynamic/cloudinfra:Project");
    expect(inputs).toEqual({
      region: "eu-1",
      __provider: 'exports.handler=()=>require("pulumi-cloudinfra/provider").project',
      __urn: "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Project::shop",
      __key: expect.stringMatching(UUID_V4),
      __keyAt: expect.any(Number),
    });
  });

  test("include every argument, even if it is an output", async () => {
    const all = {
      ...args,
      name: pulumi.output("front"),
      publicIp: "auto",
      sshKeys: [pulumi.output("ssh-rsa AAAAB3")],
      labels: pulumi.output({ team: "web" }),
    };
    expect((await one(() => new Instance("web", all))).inputs).toMatchObject({
      name: "front",
      publicIp: "auto",
      sshKeys: ["ssh-rsa AAAAB3"],
      labels: { team: "web" },
    });
  });

  test("include a misspelled argument, which check reports", async () => {
    const misspelt = { ...args, flavour: "m1.small" };
    expect((await one(() => new Instance("web", misspelt))).inputs).toHaveProperty("flavour", "m1.small");
  });
});

describe("the provider text, which every state contains", () => {
  test("is constant and short, and loads the provider", async () => {
    const seen = await registered(() => [new Project("a", { region: "eu-1" }), new Instance("b", args)]);
    for (const { inputs } of seen) expect(String(inputs.__provider).length).toBeLessThanOrEqual(100);
    expect(seen.map(({ inputs }) => inputs.__provider)).toEqual([
      'exports.handler=()=>require("pulumi-cloudinfra/provider").project',
      'exports.handler=()=>require("pulumi-cloudinfra/provider").instance',
    ]);
    for (const handler of [provider.project, provider.instance]) {
      const methods = ["configure", "check", "diff", "create", "read", "update", "delete"];
      expect(Object.entries(handler).map(([name, method]) => [name, typeof method])).toEqual(
        methods.map((name) => [name, "function"]),
      );
    }
  });
});

describe("the idempotency key", () => {
  test("is new for each resource and each run", async () => {
    const program = () => [new Instance("a", args), new Instance("b", args)];
    const seen = [...(await registered(program)), ...(await registered(program))];
    expect(new Set(seen.map(({ inputs }) => inputs.__key)).size).toBe(4);
  });

  test("is unknown in a preview, so that no preview or plan contains a key that `up` doesn't use", async () => {
    const { inputs } = await one(() => new Instance("web", args), { preview: true });
    expect(inputs.__key ?? pulumi.unknown).toBe(pulumi.unknown);
    expect(inputs.__keyAt ?? pulumi.unknown).toBe(pulumi.unknown);
    expect(JSON.stringify(inputs)).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}/);
  });
});

describe("__urn", () => {
  test("is the URN of the resource, including its parent's type", async () => {
    class Fleet extends pulumi.ComponentResource {
      constructor(name: string) {
        super("my:component:Fleet", name);
        new Instance("web", args, { parent: this });
      }
    }
    const seen = await registered(() => new Fleet("fleet"));
    expect(seen.at(-1)?.inputs.__urn).toBe(
      "urn:pulumi:dev::app::my:component:Fleet$pulumi-nodejs:dynamic/cloudinfra:Instance::web",
    );
  });
});

describe("__timeouts", () => {
  test("contains the customTimeouts that are set", async () => {
    const customTimeouts = { create: "10m", delete: "90s" };
    const { inputs } = await one(() => new Instance("web", args, { customTimeouts }));
    expect(inputs.__timeouts).toEqual(customTimeouts);
  });

  test("is omitted if no timeout is set", async () => {
    expect((await one(() => new Instance("web", args, { customTimeouts: {} }))).inputs).not.toHaveProperty(
      "__timeouts",
    );
  });
});

describe("__secrets", () => {
  test("names the arguments that are secret or contain a secret", async () => {
    const secret = {
      ...args,
      flavor: pulumi.secret("m1.small"),
      sshKeys: ["ssh-rsa AAAAB3", pulumi.secret("ssh-rsa AAAAB4")],
      labels: { team: "web", owner: pulumi.secret("ada") },
    };
    const { inputs } = await one(() => new Instance("web", secret));
    expect([...Object(inputs.__secrets)].sort()).toEqual(["flavor", "labels", "sshKeys"]);
  });

  test("is omitted if no argument is secret", async () => {
    expect((await one(() => new Instance("web", args))).inputs).not.toHaveProperty("__secrets");
  });

  test("names unknown arguments in previews, too", async () => {
    const flavor = pulumi.secret(pulumi.output<string>(pulumi.unknown as never));
    const { inputs } = await one(() => new Instance("web", { ...args, flavor }), { preview: true });
    expect(inputs.__secrets).toEqual(["flavor"]);
  });
});

test("the provider gets replaceOnChanges and retainOnDelete, because the engine ignores them for unfinished creations", async () => {
  const opts = { replaceOnChanges: ["flavor"], retainOnDelete: true };
  const { inputs } = await one(() => new Instance("web", args, opts));
  expect(inputs).toMatchObject({ __replaceOnChanges: ["flavor"], __retainOnDelete: true });
  const { inputs: others } = await one(() => new Instance("web", args, { retainOnDelete: false }));
  expect(Object.keys(others)).not.toContain("__replaceOnChanges");
  expect(Object.keys(others)).not.toContain("__retainOnDelete");
});

describe("__ignoreChanges", () => {
  test("is the option ignoreChanges as given, with paths", async () => {
    const ignoreChanges = ["flavor", "labels.env", 'labels["app.kubernetes.io/name"]'];
    const { inputs } = await one(() => new Instance("web", args, { ignoreChanges }));
    expect(inputs.__ignoreChanges).toEqual(ignoreChanges);
  });

  test.each(["*", "[*]"])(
    "names the arguments for %s, so that the engine doesn't keep hidden inputs of an earlier run",
    async (all) => {
      const sent: string[] = [];
      const { inputs } = await one(() => new Instance("web", args, { ignoreChanges: [all] }), {
        onRequest: (request) => void sent.push(...request.getIgnorechangesList()),
      });
      for (const ignored of [inputs.__ignoreChanges, sent]) {
        expect(ignored).toEqual(expect.arrayContaining([...Object.keys(args), "labels"]));
        expect(ignored).not.toContain(all);
      }
    },
  );

  test("is omitted without the option, or if the option is empty", async () => {
    expect((await one(() => new Instance("web", args))).inputs).not.toHaveProperty("__ignoreChanges");
    const { inputs } = await one(() => new Instance("web", args, { ignoreChanges: [] }));
    expect(inputs).not.toHaveProperty("__ignoreChanges");
  });
});

describe("__organization", () => {
  test("is the organization of the stack", async () => {
    const { inputs } = await one(() => new Instance("web", args), { organization: "acme" });
    expect(inputs.__organization).toBe("acme");
  });

  test("is omitted if the backend has no organizations, or if the organization is unknown", async () => {
    for (const run of [{ organization: "organization" }, {}]) {
      expect((await one(() => new Instance("web", args), run)).inputs).not.toHaveProperty("__organization");
    }
  });
});

test("a resource that is only read has none of the hidden inputs that creations and updates need", async () => {
  const options = { aliases: [{ name: "api" }], ignoreChanges: ["flavor"], customTimeouts: { create: "1h" } };
  const { inputs } = await one(() => Instance.get("web", "ins-1", options), { organization: "acme" });
  expect(Object.keys(inputs).sort()).toEqual(["__provider", "__urn"]);
});
