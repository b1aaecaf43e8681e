import * as pulumi from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import { Instance, type InstanceArgs, Project } from "../../src";
import { oneInStack } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "m1.small", network: "default" };

class Group extends pulumi.ComponentResource {
  constructor(name: string, opts: pulumi.ComponentResourceOptions) {
    super("test:Group", name, {}, opts);
  }
}

/** Changes everything that the provider reads from hidden inputs. */
const change: pulumi.ResourceTransformation = ({ type, props, opts }) => {
  if (!type.startsWith("pulumi-nodejs:")) return undefined;
  return {
    props: { ...props, flavor: pulumi.secret("m1.large") },
    opts: pulumi.mergeOptions(opts, {
      customTimeouts: { create: "1h" },
      import: "ins-7",
      ignoreChanges: ["labels"],
      aliases: [{ name: "former" }],
    }),
  };
};

const places: [where: string, declare: () => unknown][] = [
  ["the resource itself", () => new Instance("web", args, { transformations: [change] })],
  [
    "its component's component",
    () => {
      const outer = new Group("outer", { transformations: [change] });
      const inner = new Group("inner", { parent: outer });
      new Instance("web", args, { parent: inner });
    },
  ],
  [
    "the stack",
    () => {
      pulumi.runtime.registerStackTransformation(change);
      new Instance("web", args);
    },
  ],
];

describe.each(places)("a transformation of %s", (_where, declare) => {
  test("can set secret inputs, customTimeouts, import, ignoreChanges and aliases", async () => {
    const { id, inputs } = await oneInStack("web", async () => declare());
    expect(id, "an import id for the engine").toBe("");
    expect(inputs).toMatchObject({
      __secrets: ["flavor"],
      __timeouts: { create: "1h" },
      __import: "ins-7",
      __ignoreChanges: ["labels"],
      __aliasUrns: [expect.stringMatching(/cloudinfra:Instance::former$/)],
    });
  });
});

test("a later transformation takes precedence over the constructor's options and earlier transformations", async () => {
  const undo: pulumi.ResourceTransformation = ({ props, opts }) => ({
    props: { ...props, flavor: "m1.tiny" },
    opts: { ...opts, import: undefined, customTimeouts: { delete: "5m" }, ignoreChanges: [] },
  });
  const { inputs } = await oneInStack("web", async () => {
    pulumi.runtime.registerStackTransformation(undo);
    new Instance("web", args, { transformations: [change], customTimeouts: { update: "1s" } });
  });
  expect(inputs).toMatchObject({ flavor: "m1.tiny", __timeouts: { delete: "5m" } });
  for (const absent of ["__import", "__secrets", "__ignoreChanges"])
    expect(inputs).not.toHaveProperty(absent);
});

test("a transformation sees only the arguments, and the hidden inputs are complete even if it returns new ones", async () => {
  const seen: pulumi.Inputs[] = [];
  const renew: pulumi.ResourceTransformation = ({ props, opts }) => {
    seen.push(props);
    return { props: { region: "eu-2" }, opts };
  };
  const { inputs } = await oneInStack("shop", async () => {
    new Project("shop", { region: "eu-1" }, { transformations: [renew] });
  });
  expect(seen).toEqual([{ region: "eu-1" }]);
  expect(inputs).toMatchObject({
    region: "eu-2",
    __provider: expect.any(String),
    __urn: expect.any(String),
    __key: expect.any(String),
  });
});

test("the secret outputs stay secret if a transformation replaces the option additionalSecretOutputs", async () => {
  let secretOutputs: string[] = [];
  const replace: pulumi.ResourceTransformation = ({ props, opts }) => ({
    props,
    opts: { ...opts, additionalSecretOutputs: ["ipAddress"] },
  });
  await oneInStack("web", async () => new Instance("web", args, { transformations: [replace] }), {
    onRequest: (request) => {
      if (request.getName() === "web") secretOutputs = request.getAdditionalsecretoutputsList();
    },
  });
  expect(secretOutputs).toEqual(["ipAddress", "additionalProperties", "__pending", "__words", "__applied"]);
});

test("a child of an instance, and a second resource with the same options, are not affected", async () => {
  const shared: pulumi.CustomResourceOptions = { customTimeouts: { create: "1h" } };
  const program = async (): Promise<void> => {
    const web = new Instance("web", args, shared);
    new Group("inside", { parent: web });
    new Project("shop", { region: "eu-1" }, shared);
  };
  const { inputs: inside } = await oneInStack("inside", program);
  expect(inside).toEqual({});
  const { inputs: shop } = await oneInStack("shop", program);
  expect(shop).toMatchObject({ region: "eu-1", __timeouts: { create: "1h" } });
  expect(shop).not.toHaveProperty("image");
  expect(shared).toEqual({ customTimeouts: { create: "1h" } });
});

test("an error that a transformation throws keeps its own stack trace", async () => {
  const failing: pulumi.ResourceTransformation = function insideTheTransformation() {
    throw new Error("no such team");
  };
  await oneInStack("shop", async () => {
    new Project("shop", { region: "eu-1" });
    const declare = () => new Instance("web", args, { transformations: [failing] });
    expect(declare).toThrow(
      expect.objectContaining({ stack: expect.stringContaining("insideTheTransformation") }),
    );
  });
});
