import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceValidationArgs } from "@pulumi/policy";
import { Instance, Project } from "pulumi-cloudinfra";
import { type MockedResource, mocks } from "pulumi-cloudinfra/testing";
import { noPublicIp } from "./policies.ts";

const { resources } = await mocks(() => {
  const project = new Project("shop", { region: "eu-1" }).id;
  const common = { project, image: "debian-13", flavor: "small", network: "default" };
  new Instance("database", common);
  new Instance("worker", { ...common, publicIp: "none" });
  new Instance("web", { ...common, publicIp: "auto" });
  return {};
});

/** Converts a mocked resource to the form that Pulumi passes to policies. */
function shown({ type, name, args }: MockedResource): ResourceValidationArgs {
  const isType = (resource: object): boolean => "__pulumiType" in resource && resource.__pulumiType === type;
  return {
    ...{ type, name, props: args, urn: `urn:pulumi:test::shop::${type}::${name}`, stackTags: new Map() },
    opts: {
      ...{ protect: false, ignoreChanges: [], aliases: [], additionalSecretOutputs: [] },
      customTimeouts: { createSeconds: 0, updateSeconds: 0, deleteSeconds: 0 },
    },
    isType,
    asType: () => undefined,
    getConfig: () => assert.fail("the policies in this pack don't have any configuration"),
    notApplicable: () => assert.fail(`${name} has a different type`),
  };
}

test("rejects only the instance with a public address", async () => {
  const violations: string[] = [];
  for (const resource of resources.filter(({ type }) => type === Instance.__pulumiType))
    await noPublicIp.validateResource(shown(resource), (message) => violations.push(message));
  assert.deepEqual(violations, ['web has publicIp "auto". Remove the argument, or set it to "none".']);
});
