import { describe, expect, it } from "vitest";
import {
  type InterruptedCreation,
  interruptedCreations,
  unfinishedCreations,
} from "../../src/cli/recover-creations";
import { parseExport } from "../../src/cli/stack-export";
import { nextKey } from "../../src/model/idempotency-key";
import { creationBody } from "../../src/model/request-body";
import { instanceFields, projectFields } from "../../src/model/resource-fields";
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

function found(stack: Stack): InterruptedCreation[] {
  const deployment = parseExport(JSON.stringify(exported(stack)));
  return interruptedCreations(deployment);
}

const web = creating(resource(INSTANCE, "web", instanceInputs()));
const WEB = { kind: "instance", name: "web" };

it("a pending creation records the key of the project's resource, even if the project has another provider", () => {
  const project = (provider?: string): Fields => ({
    ...resource(PROJECT, "p", projectInputs(), { id: "prj-1" }),
    ...(provider !== undefined && { provider }),
  });
  const keysWith = (...resources: Fields[]): unknown =>
    found({ resources, pending: [web] }).map(({ entry }) => entry?.projectKey);
  expect(keysWith(project())).toEqual([OTHER_KEY]);
  expect(keysWith(project("eu"))).toEqual([OTHER_KEY]);
  expect(keysWith({ ...project("eu"), inputs: {} }, project())).toEqual([OTHER_KEY]);
  expect(keysWith()).toEqual([undefined]);
});

describe("a pending creation records the key of the resource that it replaces", () => {
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
    found({ resources, pending: [creating(pending)] }).map(({ entry }) => entry?.replaces);

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

  it("but not if a later `up` created the resource", () => {
    expect(replacedBy(replacing(), old({ created: "2026-03-04T11:00:00Z" }))).toEqual([undefined]);
    expect(replacedBy(replacing({ created: undefined }), old())).toEqual([undefined]);
  });

  it("but not if it is another resource", () => {
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
  ])("of a resource with the `import` option counts only if it creates an object: %s", (_, more, urns) => {
    const inputs = instanceInputs({ __import: "ins-1" });
    const adopted = resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY, __import: "ins-1" }), {
      id: "ins-1",
      created: "2026-03-04T09:00:00Z",
    });
    const interrupted = found({
      resources: [adopted],
      pending: [creating({ ...resource(INSTANCE, "web", inputs), ...more })],
    });
    expect(interrupted.map(({ urn }) => urn)).toEqual(urns);
  });

  it("of a resource with the `import` option counts if the adopted object was replaced before", () => {
    const created = "2026-03-04T09:00:00Z";
    const inputs = instanceInputs({ __key: OTHER_KEY, __import: "ins-1" });
    const interrupted = found({
      resources: [resource(INSTANCE, "web", inputs, { id: "ins-2", created })],
      pending: [creating({ ...resource(INSTANCE, "web", instanceInputs({ __import: "ins-1" })), created })],
    });
    expect(interrupted.map(({ urn }) => urn)).toEqual([urnOf(INSTANCE, "web")]);
  });

  it("of an instance or a project is found, with its key and the body that the provider sends", () => {
    const interrupted = found({
      pending: [web, creating(resource(PROJECT, "p", projectInputs()))],
    });
    expect(interrupted).toEqual([
      {
        ...WEB,
        urn: urnOf(INSTANCE, "web"),
        entry: {
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
        ...{ kind: "project", name: "p" },
        entry: expect.objectContaining({
          key: OTHER_KEY,
          body: creationBody(projectFields, projectInputs()),
        }),
      }),
    ]);
  });

  it("contains nested secrets in plaintext, and the names of secret arguments", () => {
    const keys = ["ssh-ed25519 AAAA me"];
    const __secrets = ["sshKeys", "flavor"];
    const wrapped = instanceInputs({
      sshKeys: secret([secret(keys[0])]),
      flavor: secret("small"),
      __secrets,
    });
    const interrupted = found({ pending: [creating(resource(INSTANCE, "web", wrapped))] });
    expect(interrupted[0]?.entry?.body).toBe(creationBody(instanceFields, instanceInputs({ sshKeys: keys })));
    expect(interrupted[0]?.entry?.secrets).toEqual(__secrets);
  });

  it("is rejected if one of its secrets is encrypted", () => {
    const pending = [creating(resource(INSTANCE, "web", instanceInputs({ sshKeys: hiddenSecret })))];
    expect(() => found({ pending })).toThrow("are encrypted");
  });

  it.each([
    ["the stack", "urn:pulumi:former::app"],
    ["the project", "urn:pulumi:dev::former"],
  ])(
    "has the URN that the next `up` uses, if %s was renamed and the inputs have the old one",
    (_, former) => {
      const inputs = instanceInputs({ __urn: urnOf(INSTANCE, "web").replace("urn:pulumi:dev::app", former) });
      const interrupted = found({ pending: [creating(resource(INSTANCE, "web", inputs))] });
      const urn = urnOf(INSTANCE, "web");
      expect(interrupted).toMatchObject([{ ...WEB, urn, entry: { urn } }]);
    },
  );

  it("has the name and the parents that the provider looks up, which can differ from the engine's", () => {
    // The SDK takes the parent's type from the URN up to its last "::", which may be a part of the parent's name.
    const inComponent = (type: string): string => urnOf(`${type}$${INSTANCE}`, "web");
    const inputs = instanceInputs({ __urn: inComponent("my:Component::a") });
    const pending = { ...resource(INSTANCE, "web", inputs), urn: inComponent("my:Component") };
    expect(found({ pending: [creating(pending)] })).toMatchObject([
      { ...WEB, urn: inComponent("my:Component::a") },
    ]);
  });

  it.each([undefined, "web", 7])("has the engine's URN if the one in the inputs is %j", (__urn) => {
    const interrupted = found({
      pending: [creating(resource(INSTANCE, "web", instanceInputs({ __urn })))],
    });
    expect(interrupted).toMatchObject([{ urn: urnOf(INSTANCE, "web") }]);
  });

  it.each([
    ["inputs", { inputs: instanceInputs() }],
    ["outputs", { inputs: {}, outputs: { __key: KEY } }],
    ["outputs, in the record of a running creation", { inputs: {}, outputs: { __pending: { key: KEY } } }],
    ["outputs, in a secret record", { inputs: {}, outputs: { __pending: secret({ key: KEY }) } }],
  ])("is settled if a resource has its key in its %s", (_, fields) => {
    const holder = { ...resource(INSTANCE, "renamed", {}), ...fields };
    expect(found({ resources: [holder], pending: [web] })).toEqual([]);
  });

  describe("that resumed an unfinished creation of the state", () => {
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
    ])("may have sent the key after the recorded one: %s", (_, key) => {
      // The first interruption left a pending creation, too. The state has its key.
      const interrupted = found({
        resources: [placeholder({ key, at })],
        pending: [resuming, web],
      });
      const entry = { key: nextKey(key), resource: KEY, replaces: KEY, at, recovered: true };
      expect(interrupted).toMatchObject([{ entry }]);
      expect(interrupted[0]?.entry?.body).toBe(creationBody(instanceFields, instanceInputs()));
    });

    it.each([
      ["failed", placeholder({ key: KEY, at, failed: true })],
      ["is finished, and the state has the object", placeholder({ key: KEY, at }, { id: "ins-1" })],
      ["was started by a later `up`", placeholder({ key: KEY, at }, { created: "2026-03-04T11:00:00Z" })],
    ])("is settled if the recorded creation %s", (_, resources) => {
      expect(found({ resources: [resources], pending: [resuming] })).toEqual([]);
    });
  });

  it("is not settled by a resource with another key, such as the one that it replaces", () => {
    const old = resource(INSTANCE, "web", instanceInputs({ __key: OTHER_KEY }), { id: "ins-1" });
    expect(found({ resources: [old], pending: [web] })).toHaveLength(1);
  });

  it("that was interrupted twice, with changed arguments, has the body of the first attempt, which was sent with the key", () => {
    const again = creating(resource(INSTANCE, "web", instanceInputs({ flavor: "large" })));
    const interrupted = found({ pending: [again, web] });
    expect(interrupted).toHaveLength(1);
    expect(interrupted[0]?.entry?.body).toBe(creationBody(instanceFields, instanceInputs()));
  });

  it("of another package is ignored, and so are other pending operations", () => {
    const foreign = creating(resource("aws:ec2/instance:Instance", "web", { ami: hiddenSecret }));
    const others = ["updating", "deleting", "reading"].map((type) => ({ ...web, type }));
    const stack = exported({ pending: [foreign, ...others] });
    expect(parseExport(JSON.stringify(stack)).pendingCreations).toEqual([]);
  });

  it.each([
    ["without a key", { __key: undefined }],
    ["with a key of another form", { __key: "web-1" }],
    ["without a required argument", { image: undefined }],
  ])("%s is found, but has no journal entry", (_, more) => {
    const interrupted = found({ pending: [creating(resource(INSTANCE, "web", instanceInputs(more)))] });
    expect(interrupted).toEqual([{ ...WEB, urn: urnOf(INSTANCE, "web"), entry: undefined }]);
  });
});

it("the time of a pending creation is that of its key, or 0 if it is unknown, which is older than any valid key", () => {
  const timeOf = (more: Fields): number | undefined =>
    found({ pending: [creating(resource(INSTANCE, "web", instanceInputs(more)))] })[0]?.entry?.at;
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
    ["those that a later `up` finished", { resources: [made], pending: [web] }],
    [
      "those of other packages",
      { resources: [{ ...foreign, id: "operation/1" }], pending: [creating(foreign)] },
    ],
  ])("don't include %s", (_, stack) => {
    expect(unfinishedCreations(parseExport(JSON.stringify(exported(stack))))).toEqual([]);
  });
});
