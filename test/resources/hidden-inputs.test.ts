// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, test } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import * as provider from "../../src/provider";
import { one, type Run, registered } from "./registered";

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

const type = "pulumi-nodejs:dynamic/cloudinfra:Instance";
const urn = (rest: string, stack = "dev", project = "app"): string =>
  `urn:pulumi:${stack}::${project}::${rest}`;

class Group extends pulumi.ComponentResource {
  constructor(name: string, opts: pulumi.ComponentResourceOptions = {}) {
    super("test:Group", name, {}, opts);
  }
}

/** The hidden input with the former URNs of the instance "web". */
async function formerUrns(declare: () => unknown, run: Run = {}): Promise<unknown> {
  return (await registered(declare, run)).find(({ name }) => name === "web")?.inputs.__aliasUrns;
}

const web = (aliases: pulumi.CustomResourceOptions["aliases"] = [], parent?: pulumi.Resource): Instance =>
  new Instance("web", args, { aliases, ...(parent && { parent }) });

describe("the former URNs of a resource follow from", () => {
  test.each<[string, () => unknown, string[]]>([
    ["a URN", () => web(["urn:of:another::form"]), ["urn:of:another::form"]],
    ["a name", () => web([{ name: "api" }]), [urn(`${type}::api`)]],
    ["an output", () => web([pulumi.output({ name: pulumi.output("api") })]), [urn(`${type}::api`)]],
    ["a type", () => web([{ type: "old:index:Vm" }]), [urn("old:index:Vm::web")]],
    ["a stack and a project", () => web([{ stack: "s", project: "p" }]), [urn(`${type}::web`, "s", "p")]],
    ["a former parent", () => web([{ parent: new Group("g") }]), [urn(`test:Group$${type}::web`)]],
    [
      "a former parent's URN",
      () => web([{ parent: urn("test:Group::g") }]),
      [urn(`test:Group$${type}::web`)],
    ],
    [
      "no former parent",
      () => web([{ parent: pulumi.rootStackResource }], new Group("g")),
      [urn(`${type}::web`)],
    ],
    [
      "a name inside a parent",
      () => web([{ name: "api" }], new Group("g")),
      [urn(`test:Group$${type}::api`)],
    ],
    [
      "a parent with its stack and project, which take precedence over those of the alias, as in Pulumi's engine",
      () => web([{ name: "api", stack: "s", project: "p" }], new Group("g")),
      [urn(`test:Group$${type}::api`)],
    ],
    [
      "a former parent's URN in another stack and project",
      () => web([{ parent: urn("test:Group::g", "s", "p") }]),
      [urn(`test:Group$${type}::web`, "s", "p")],
    ],
    [
      "several, each once",
      () => web([{ name: "a" }, { name: "b" }, { name: "a" }]),
      [urn(`${type}::a`), urn(`${type}::b`)],
    ],
  ])("%s", async (_what, declare, expected) => {
    expect(await formerUrns(declare)).toEqual(expected);
  });

  test("aliases of a parent apply to its descendants, also in combination with their own aliases", async () => {
    const urns = await formerUrns(() => {
      const outer = new Group("outer", { aliases: [{ type: "old:Outer" }] });
      const inner = new Group("inner", { parent: outer });
      web([{ name: "api" }], inner);
    });
    expect(urns).toEqual([
      urn(`test:Group$test:Group$${type}::api`),
      urn(`old:Outer$test:Group$${type}::web`),
      urn(`old:Outer$test:Group$${type}::api`),
    ]);
  });

  test("a child that is named after its parent was renamed together with it", async () => {
    const urns = await formerUrns(() => web([], new Group("we", { aliases: [{ name: "shop" }] })));
    expect(urns).toEqual([urn(`test:Group$${type}::shopb`)]);
  });

  test("aliases of a former parent apply, too", async () => {
    const urns = await formerUrns(() =>
      web([{ parent: new Group("g", { aliases: [{ type: "old:Group" }] }) }]),
    );
    expect(urns).toEqual([urn(`test:Group$${type}::web`), urn(`old:Group$${type}::web`)]);
  });

  test("there are no former URNs without aliases, or with an alias for the current URN", async () => {
    expect(await formerUrns(() => web())).toBeUndefined();
    expect(await formerUrns(() => web([{ name: "web" }]))).toBeUndefined();
  });

  test("former URNs add no dependencies to the resource", async () => {
    const dependencies: string[][] = [];
    const onRequest: Run["onRequest"] = (request) => {
      if (request.getName() === "web") dependencies.push(request.getDependenciesList());
    };
    const declare = () => {
      const shop = new Project("shop", { region: "eu-1" });
      web([{ parent: shop }, shop.urn]);
    };
    expect(await formerUrns(declare, { onRequest })).toHaveLength(2);
    expect(dependencies).toEqual([[]]);
  });
});

/** The hidden input `__autonaming` of a project and an instance, for this setting. */
async function namings(
  setting: unknown,
  config: Record<string, string> = {},
  run: Run = {},
): Promise<unknown[]> {
  const autonaming = setting === undefined ? {} : { "pulumi:autonaming": JSON.stringify(setting) };
  pulumi.runtime.setAllConfig({ ...autonaming, ...config });
  const program = () => [new Project("shop", { region: "eu-1" }), new Instance("web", args)];
  return (await registered(program, run)).map(({ inputs }) => inputs.__autonaming);
}

const INSTANCE = "pulumi-nodejs:dynamic/cloudinfra:Instance";

describe("the setting pulumi:autonaming", () => {
  afterEach(() => {
    pulumi.runtime.setAllConfig({});
  });

  test.each<[string, unknown, unknown[]]>([
    ["not at all without the setting", undefined, [undefined, undefined]],
    ["not at all in the mode default", { mode: "default" }, [undefined, undefined]],
    ["as the pattern ${name} in the mode verbatim", { mode: "verbatim" }, ["${name}", "${name}"]],
    ["as false in the mode disabled", { mode: "disabled" }, [false, false]],
    [
      "as its pattern",
      { pattern: "${name}-${hex(4)}", enforce: true },
      ["${name}-${hex(4)}", "${name}-${hex(4)}"],
    ],
    [
      "as the one of the provider pulumi-nodejs, if that has one",
      { pattern: "a", providers: { "pulumi-nodejs": { pattern: "b" }, aws: { pattern: "c" } } },
      ["b", "b"],
    ],
    [
      "as the one of the resource type, if that has one",
      {
        pattern: "a",
        providers: { "pulumi-nodejs": { pattern: "b", resources: { [INSTANCE]: { mode: "disabled" } } } },
      },
      ["b", false],
    ],
    [
      "not at all for other types of a provider that has a setting for one type only, as in Pulumi's engine",
      { pattern: "a", providers: { "pulumi-nodejs": { resources: { [INSTANCE]: { pattern: "b" } } } } },
      [undefined, "b"],
    ],
  ])("%s", async (_how, setting, expected) => {
    expect(await namings(setting)).toEqual(expected);
  });

  test("replaces the names of the organization, project and stack, and values of the project's configuration", async () => {
    const pattern = "${organization}-${project}-${stack}-${config.team}-${config.cost.center}-${name}";
    const config = { "app:team": "blue", "app:cost": '{"center":42}' };
    const [naming] = await namings({ pattern }, config, { organization: "acme" });
    expect(naming).toBe("acme-app-dev-blue-42-${name}");
    const [withoutOrganization] = await namings({ pattern: "${organization}" });
    expect(withoutOrganization).toBe("organization");
  });

  test("causes an error that names a missing configuration key", async () => {
    await expect(namings({ pattern: "${config.team}" })).rejects.toThrow(
      "cloudinfra: pulumi:autonaming: the pattern contains ${config.team}, but the project configuration doesn't set this key",
    );
  });
});
