import { describe, expect, it } from "vitest";
import { type PendingCreations, pendingCreations } from "../../src/cli/recover/creations";
import { parseExport } from "../../src/cli/recover/deployment";
import { creationBody } from "../../src/provider/values/body";
import { instanceFields, projectFields } from "../../src/provider/values/fields";
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

describe("a pending creation", () => {
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
          body: '{"project":"prj-1","name":"web-0b8e5a3","image":"ubuntu","flavor":"small","network":"default","labels":{"app":"shop","tier":"web"}}',
          at: KEY_MADE,
          recovered: true,
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

  it("has its secrets in the body as they were sent, however deep they are wrapped", () => {
    const keys = ["ssh-ed25519 AAAA me"];
    const wrapped = instanceInputs({ sshKeys: secret([secret(keys[0])]), flavor: secret("small") });
    const { cutOff } = found({ pending: [creating(resource(INSTANCE, "web", wrapped))] });
    expect(cutOff[0]?.begun?.body).toBe(creationBody(instanceFields, instanceInputs({ sshKeys: keys })));
  });

  it("is refused where the export hides a secret of it", () => {
    const pending = [creating(resource(INSTANCE, "web", instanceInputs({ sshKeys: hiddenSecret })))];
    expect(() => found({ pending })).toThrow("hides its secrets");
  });

  it("goes by the URN that the provider knows it by", () => {
    const known = urnOf(INSTANCE, "known");
    const { cutOff } = found({
      pending: [creating(resource(INSTANCE, "web", instanceInputs({ __urn: known })))],
    });
    expect(cutOff).toMatchObject([{ what: 'instance "known"', urn: known, begun: { urn: known } }]);
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
