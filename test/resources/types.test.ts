import * as pulumi from "@pulumi/pulumi";
import { expect, expectTypeOf, test } from "vitest";
import {
  type GetInstancesResult,
  Instance,
  type InstanceArgs,
  type InstanceStatus,
  Project,
  type PublicIp,
} from "../../src";
import { registered } from "./registered";

const args: InstanceArgs = { project: "prj-1", image: "debian-13", flavor: "small", network: "default" };

test("`isInstance` recognizes the resources of this package, even by the type alone, as in policies", async () => {
  const seen: pulumi.Resource[] = [];
  await registered(() => seen.push(new Instance("web", args), new Project("shop", { region: "eu-1" })));
  expect(seen.map((one) => Instance.isInstance(one))).toEqual([true, false]);
  expect(seen.map((one) => Project.isInstance(one))).toEqual([false, true]);
  expect(Instance.isInstance({ __pulumiType: Instance.__pulumiType })).toBe(true);
  expect([undefined, null, "web", {}].map((one) => Instance.isInstance(one))).toEqual(Array(4).fill(false));
  expect(Project.__pulumiType).toBe("pulumi-nodejs:dynamic/cloudinfra:Project");
});

test("optional arguments can be outputs without a value", () => {
  const maybe = pulumi.output<string | undefined>(undefined);
  const optional: Partial<InstanceArgs> = {
    name: maybe,
    publicIp: maybe,
    sshKeys: maybe.apply(() => undefined),
  };
  expect(Object.keys(optional)).toEqual(["name", "publicIp", "sshKeys"]);
});

test("`publicIp` and `status` suggest the values that the API specifies, and accept any other", () => {
  const known: (PublicIp | InstanceStatus)[] = ["auto", "running", "something else"];
  expect(known).toHaveLength(3);
  expectTypeOf<string>().toExtend<PublicIp>();
  expectTypeOf<Instance["status"]>().toEqualTypeOf<pulumi.Output<InstanceStatus | undefined>>();
  expectTypeOf<GetInstancesResult[number]["publicIp"]>().toEqualTypeOf<PublicIp | undefined>();
});
