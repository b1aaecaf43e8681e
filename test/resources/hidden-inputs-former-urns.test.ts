import * as pulumi from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import { type Run, registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };
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
