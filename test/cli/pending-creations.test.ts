import { describe, expect, it } from "vitest";
import {
  type PendingCreations,
  pendingCreations,
  unfinishedCreations,
} from "../../src/cli/recover/creations";
import { parseExport } from "../../src/cli/recover/export";
import { instanceFields, projectFields } from "../../src/model/fields";
import { creationBody } from "../../src/model/request-body";
import { nextKey } from "../../src/provider/create/run";
import {
  creating,
  exported,
  type Fields,
  hiddenSecret,
  INSTANCE,
  instanceInputs,
  KEY,
  KEY_MADE,
  OTHER_KEY,
  PROJECT,
  projectInputs,
  resource,
  type Stack,
  secret,
  urnOf,
} from "./exports";

function found(stack: Stack): PendingCreations {
  const deployment = parseExport(JSON.stringify(exported(stack)));
  return pendingCreations(deployment);
}

const web = creating(resource(INSTANCE, "web", instanceInputs()));

it("a pending creation names the key of the project's resource, if the stack has it with the same provider", () => {
  const project = (provider?: string): Fields => ({
    ...resource(PROJECT, "p", projectInputs(), { id: "prj-1" }),
    ...(provider !== undefined && { provider }),
  });
  const keysWith = (...resources: Fields[]): unknown =>
    found({ resources, pending: [web] }).cutOff.map(({ begun }) => begun?.projectKey);
  expect(keysWith(project())).toEqual([OTHER_KEY]);
  expect(keysWith(project("eu"))).toEqual([undefined]);
  expect(keysWith()).toEqual([undefined]);
});

describe("a pending creation names the key of the resource that it replaces", () => {
  const CREATED = "2026-03-04T09:00:00.123456789Z";
  const replacing = (more: Fields = {}): Fields => ({
    ...resource(INSTANCE, "web", instanceInputs()),
    created: CREATED,
    ...more,
  });
  const old = (more: Fields = {}): Fields => ({
    ...resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY }), { id: "ins-1" }),
    created: CREATED,
    ...more,
  });
  const replacedBy = (pending: Fields, ...resources: Fields[]): unknown =>
    found({ resources, pending: [creating(pending)] }).cutOff.map(({ begun }) => begun?.replaces);

  it.each([
    ["before the old one is deleted", replacing(), old()],
    ["after the old one is deleted", replacing(), old({ pendingReplacement: true })],
    [
      "after a second Ctrl-C",
      replacing({ created: "2026-03-04T09:01:30Z" }),
      old({ pendingReplacement: true }),
    ],
    [
      "under a new name",
      replacing({ aliases: [urnOf(INSTANCE, "former")] }),
      old({ urn: urnOf(INSTANCE, "former") }),
    ],
    ["with the key in the outputs only", replacing(), old({ inputs: {}, outputs: { __key: OTHER_KEY } })],
  ])("%s", (_, pending, held) => {
    expect(replacedBy(pending, held)).toEqual([OTHER_KEY]);
  });

  it("but not of one that was created later, which a later `up` made in its place", () => {
    expect(replacedBy(replacing(), old({ created: "2026-03-04T11:00:00Z" }))).toEqual([undefined]);
    expect(replacedBy(replacing({ created: undefined }), old())).toEqual([undefined]);
  });

  it("but not of another resource", () => {
    expect(replacedBy(replacing(), old({ urn: urnOf(INSTANCE, "other") }))).toEqual([undefined]);
  });
});

describe("a pending creation", () => {
  it.each([
    ["the option names an object", {}, []],
    [
      "the resource is replaced that adopted the object",
      { created: "2026-03-04T09:00:00Z" },
      [urnOf(INSTANCE, "web")],
    ],
  ])("of a resource with the `import` option is one only if it creates an object: %s", (_, more, urns) => {
    const inputs = instanceInputs({ __import: "ins-1" });
    const adopted = resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY, __import: "ins-1" }), {
      id: "ins-1",
      created: "2026-03-04T09:00:00Z",
    });
    const { cutOff } = found({
      resources: [adopted],
      pending: [creating({ ...resource(INSTANCE, "web", inputs), ...more })],
    });
    expect(cutOff.map(({ urn }) => urn)).toEqual(urns);
  });

  it("of a resource with the `import` option is one if it replaces what has replaced the adopted object", () => {
    const created = "2026-03-04T09:00:00Z";
    const inputs = instanceInputs({ __key: OTHER_KEY, __import: "ins-1" });
    const { cutOff } = found({
      resources: [resource(INSTANCE, "web", inputs, { id: "ins-2", created })],
      pending: [creating({ ...resource(INSTANCE, "web", instanceInputs({ __import: "ins-1" })), created })],
    });
    expect(cutOff.map(({ urn }) => urn)).toEqual([urnOf(INSTANCE, "web")]);
  });

  it("of an instance and of a project is found, with its key and the body that the provider sends", () => {
    const { cutOff, held } = found({ pending: [web, creating(resource(PROJECT, "p", projectInputs()))] });
    expect(held).toBe(0);
    expect(cutOff).toEqual([
      {
        what: 'instance "web"',
        urn: urnOf(INSTANCE, "web"),
        begun: {
          urn: urnOf(INSTANCE, "web"),
          key: KEY,
          resource: KEY,
          body: '{"project":"prj-1","name":"web-0b8e5a3","image":"ubuntu","flavor":"small","network":"default","labels":{"app":"shop","tier":"web"}}',
          at: KEY_MADE,
          recovered: true,
          isLate: true,
        },
      },
      expect.objectContaining({
        what: 'project "p"',
        begun: expect.objectContaining({
          key: OTHER_KEY,
          body: creationBody(projectFields, projectInputs()),
        }),
      }),
    ]);
  });

  it("has its secrets in the body as they were sent, however deep they are wrapped, and their names", () => {
    const keys = ["ssh-ed25519 AAAA me"];
    const __secrets = ["sshKeys", "flavor"];
    const wrapped = instanceInputs({
      sshKeys: secret([secret(keys[0])]),
      flavor: secret("small"),
      __secrets,
    });
    const { cutOff } = found({ pending: [creating(resource(INSTANCE, "web", wrapped))] });
    expect(cutOff[0]?.begun?.body).toBe(creationBody(instanceFields, instanceInputs({ sshKeys: keys })));
    expect(cutOff[0]?.begun?.secrets).toEqual(__secrets);
  });

  it("is refused where the export hides a secret of it", () => {
    const pending = [creating(resource(INSTANCE, "web", instanceInputs({ sshKeys: hiddenSecret })))];
    expect(() => found({ pending })).toThrow("are encrypted");
  });

  it.each([
    ["the stack", "urn:pulumi:former::app"],
    ["the project", "urn:pulumi:dev::former"],
  ])(
    "has the URN that the next `up` uses after %s was renamed, also if the provider kept the old one",
    (_, former) => {
      const inputs = instanceInputs({ __urn: urnOf(INSTANCE, "web").replace("urn:pulumi:dev::app", former) });
      const { cutOff } = found({ pending: [creating(resource(INSTANCE, "web", inputs))] });
      const urn = urnOf(INSTANCE, "web");
      expect(cutOff).toMatchObject([{ what: 'instance "web"', urn, begun: { urn } }]);
    },
  );

  it("has the name and the parents by which the provider looks it up, which may differ from the engine's", () => {
    // The SDK takes the parent's type from the URN up to its last "::", which may be a part of the parent's name.
    const inComponent = (type: string): string => urnOf(`${type}$${INSTANCE}`, "web");
    const inputs = instanceInputs({ __urn: inComponent("my:Component::a") });
    const pending = { ...resource(INSTANCE, "web", inputs), urn: inComponent("my:Component") };
    expect(found({ pending: [creating(pending)] }).cutOff).toMatchObject([
      { what: 'instance "web"', urn: inComponent("my:Component::a") },
    ]);
  });

  it.each([undefined, "web", 7])("has the URN of the export if the one of the provider is %j", (__urn) => {
    const { cutOff } = found({ pending: [creating(resource(INSTANCE, "web", instanceInputs({ __urn })))] });
    expect(cutOff).toMatchObject([{ urn: urnOf(INSTANCE, "web") }]);
  });

  it.each([
    ["inputs", { inputs: instanceInputs() }],
    ["outputs", { inputs: {}, outputs: { __key: KEY } }],
    [
      "outputs, as the key of a creation still under way",
      { inputs: {}, outputs: { __pending: { key: KEY } } },
    ],
    ["outputs, as a secret", { inputs: {}, outputs: { __pending: secret({ key: KEY }) } }],
  ])("is left where a resource has its key in its %s", (_, fields) => {
    const holder = { ...resource(INSTANCE, "renamed", {}), ...fields };
    expect(found({ resources: [holder], pending: [web] })).toEqual({ cutOff: [], held: 1 });
  });

  describe("that has resumed a placeholder", () => {
    const created = "2026-03-04T09:00:00Z";
    const at = KEY_MADE + 1000;
    const placeholder = (pending: Fields, more: Fields = {}): Fields =>
      resource(INSTANCE, "web", instanceInputs(), {
        ...{ id: "operation/op-1", created, outputs: { __key: KEY, __pending: secret(pending) } },
        ...more,
      });
    const resuming = creating(resource(INSTANCE, "web", instanceInputs(), { created }));

    it.each([
      ["the first one", KEY],
      ["a later one", OTHER_KEY],
    ])("may have sent the key after that of the placeholder: %s", (_, key) => {
      // The first kill has left a pending creation, too, which the placeholder holds.
      const { cutOff, held } = found({ resources: [placeholder({ key, at })], pending: [resuming, web] });
      const begun = { key: nextKey(key), resource: KEY, replaces: KEY, at, recovered: true };
      expect(cutOff).toMatchObject([{ begun }]);
      expect(cutOff[0]?.begun?.body).toBe(creationBody(instanceFields, instanceInputs()));
      expect(held).toBe(1);
    });

    it.each([
      ["is known to have failed", placeholder({ key: KEY, at, failed: true })],
      ["has ended: the state has the object", placeholder({ key: KEY, at }, { id: "ins-1" })],
      ["was made by a later `up`", placeholder({ key: KEY, at }, { created: "2026-03-04T11:00:00Z" })],
    ])("is held if the placeholder's creation %s", (_, resources) => {
      expect(found({ resources: [resources], pending: [resuming] })).toEqual({ cutOff: [], held: 1 });
    });
  });

  it("is not held by a resource with another key, such as the one it was to replace", () => {
    const old = resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY }), { id: "ins-1" });
    expect(found({ resources: [old], pending: [web] }).cutOff).toHaveLength(1);
  });

  it("that was cut off again, with changed arguments, is the one whose body went with the key: the first", () => {
    const again = creating(resource(INSTANCE, "web", instanceInputs({ flavor: "large" })));
    const { cutOff } = found({ pending: [again, web] });
    expect(cutOff).toHaveLength(1);
    expect(cutOff[0]?.begun?.body).toBe(creationBody(instanceFields, instanceInputs()));
  });

  it("of another cloud, and other pending operations, are none of ours", () => {
    const foreign = creating(resource("aws:ec2/instance:Instance", "web", { ami: hiddenSecret }));
    const others = ["updating", "deleting", "reading"].map((type) => ({ ...web, type }));
    expect(found({ pending: [foreign, ...others] })).toEqual({ cutOff: [], held: 0 });
  });

  it.each([
    ["without a key", { __key: undefined }],
    ["with a key of another form", { __key: "web-1" }],
    ["without a required argument", { image: undefined }],
  ])("%s is told of, but can't be noted", (_, more) => {
    const { cutOff } = found({ pending: [creating(resource(INSTANCE, "web", instanceInputs(more)))] });
    expect(cutOff).toEqual([{ what: 'instance "web"', urn: urnOf(INSTANCE, "web"), begun: undefined }]);
  });
});

it("the time of a pending creation is its key's, not the state's, which later commands move; unknown, it is older than any key may be", () => {
  const timeOf = (more: Fields): number | undefined =>
    found({ pending: [creating(resource(INSTANCE, "web", instanceInputs(more)))] }).cutOff[0]?.begun?.at;
  expect(timeOf({})).toBe(KEY_MADE);
  expect(timeOf({ __keyAt: undefined })).toBe(0);
});

describe("the unfinished creations of a stack", () => {
  const placeholder = (pending: Fields): Fields =>
    resource(INSTANCE, "web", instanceInputs(), {
      id: "operation/op-1",
      outputs: { __pending: secret({ key: KEY, ...pending }) },
    });
  const made = resource(INSTANCE, "web", instanceInputs(), { id: "ins-1" });
  const foreign = resource("random:index:Password", "web", { length: hiddenSecret });

  it.each<[string, Stack, string[]]>([
    ["those of placeholders", { resources: [placeholder({})] }, ['instance "web"']],
    ["those that the state doesn't hold", { pending: [web] }, ['instance "web"']],
    ["each once", { resources: [placeholder({})], pending: [web] }, ['instance "web"']],
    ["those of projects", { pending: [creating(resource(PROJECT, "p", projectInputs()))] }, ['project "p"']],
  ])("include %s", (_, stack, creations) => {
    expect(unfinishedCreations(parseExport(JSON.stringify(exported(stack))))).toEqual(creations);
  });

  it.each<[string, Stack]>([
    ["those that failed", { resources: [placeholder({ failed: true })] }],
    ["those that an `up` has finished since", { resources: [made], pending: [web] }],
    [
      "those of other packages",
      { resources: [{ ...foreign, id: "operation/1" }], pending: [creating(foreign)] },
    ],
  ])("don't include %s", (_, stack) => {
    expect(unfinishedCreations(parseExport(JSON.stringify(exported(stack))))).toEqual([]);
  });
});
