import * as pulumi from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import { resolved, whenCreated } from "../../src/resources/sdk";

/** An output that fails, as the URN of a resource does that could not be registered. */
function failing(): pulumi.Output<string> {
  const output = pulumi.output(Promise.reject<string>(new Error("not registered")));
  pulumi.recover(output, () => ""); // or the run would end with an unhandled rejection
  return output;
}

test("resolving the URN of a parent fails if the parent was not registered", async () => {
  await expect(resolved(failing())).rejects.toThrow("not registered");
});

test("a value that is unknown in a preview resolves to undefined", async () => {
  expect(await resolved(pulumi.output<string>(pulumi.unknown as never))).toBeUndefined();
});

type DependsOn = Parameters<typeof whenCreated>[0];

class Leaf extends pulumi.CustomResource {
  constructor(name: string, opts: pulumi.CustomResourceOptions = {}) {
    super("pulumi-nodejs:dynamic/test:Leaf", name, {}, opts);
  }
}

/** A component that declares its children when `declare` runs, in its constructor or in `initialize`. */
class Group extends pulumi.ComponentResource {
  constructor(
    name: string,
    declare: (group: pulumi.ComponentResource) => unknown,
    opts: pulumi.ComponentResourceOptions & { readonly late?: boolean } = {},
  ) {
    super("test:Group", name, { run: opts.late ? declare : undefined }, opts);
    if (!opts.late) declare(this);
  }

  protected override async initialize({ run }: pulumi.Inputs): Promise<void> {
    await Promise.resolve();
    await Promise.resolve();
    if (typeof run === "function") run(this);
  }
}

/** The names of the resources that the engine has registered by the time the output is known. */
async function registeredBefore(dependsOn: () => DependsOn): Promise<string[]> {
  const done: string[] = [];
  await pulumi.runtime.setMocks({
    call: () => ({}),
    // Each registration takes longer than the one before it.
    async newResource({ name, type }) {
      for (let turn = 0; turn < 20 * (done.length + 1); turn++) await new Promise(setImmediate);
      if (type !== "test:Group") done.push(name);
      return { id: `${name}-id`, state: {} };
    },
  });
  return new Promise((resolve, reject) => {
    const output = whenCreated(dependsOn()).apply(() => resolve([...done].sort()));
    pulumi.recover(output, reject);
  });
}

const child = (name: string) => (parent: pulumi.Resource) => new Leaf(name, { parent });

describe("the resources of dependsOn resolve only after", () => {
  test.each<[string, () => DependsOn, string[]]>([
    ["a resource", () => new Leaf("a"), ["a"]],
    ["a promise of a resource", () => Promise.resolve(new Leaf("a")), ["a"]],
    ["an output of a resource", () => pulumi.output(new Leaf("a")), ["a"]],
    ["each of a list", () => [new Leaf("a"), Promise.resolve(new Leaf("b"))], ["a", "b"]],
    ["each of an output of a list", () => pulumi.output([new Leaf("a"), new Leaf("b")]), ["a", "b"]],
    ["the children of a component", () => new Group("g", child("a")), ["a"]],
    [
      "the children of a component that its asynchronous part declares",
      () => new Group("g", child("a"), { late: true }),
      ["a"],
    ],
    [
      "the children of nested components",
      () => [new Group("g", (parent) => [child("a")(parent), new Group("h", child("b"), { parent })])],
      ["a", "b"],
    ],
    [
      "the children that a component declares once an earlier child has its id",
      () => new Group("g", (parent) => child("a")(parent).id.apply(() => void child("b")(parent))),
      ["a", "b"],
    ],
  ])("%s", async (_what, dependsOn, expected) => {
    expect(await registeredBefore(dependsOn)).toEqual(expected);
  });

  test("the children that a component declares after it has called the function", async () => {
    const names = await registeredBefore(() => {
      let dependsOn: DependsOn;
      new Group("g", (parent) => {
        dependsOn = parent;
        child("a")(parent);
      });
      return dependsOn;
    });
    expect(names).toEqual(["a"]);
  });
});

test("without dependsOn, the output is known immediately", async () => {
  expect(await registeredBefore(() => undefined)).toEqual([]);
  expect(await registeredBefore(() => [])).toEqual([]);
});

test("a value that isn't a resource causes an error that names the option", async () => {
  const wrong = JSON.parse('["web"]');
  await expect(registeredBefore(() => wrong)).rejects.toThrow(
    "cloudinfra: dependsOn: must be a resource or a list of resources",
  );
});

test("in a preview that creates a child of a component, the output is unknown", async () => {
  await pulumi.runtime.setMocks(
    { call: () => ({}), newResource: () => ({ id: undefined, state: {} }) },
    "app",
    "dev",
    true,
  );
  let ran = false;
  whenCreated(new Group("g", child("a"))).apply(() => {
    ran = true;
  });
  await pulumi.runtime.disconnect();
  expect(ran).toBe(false);
});
