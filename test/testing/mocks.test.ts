import * as pulumi from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import {
  getInstances,
  getInstancesOutput,
  getProjects,
  Instance,
  type InstanceArgs,
  Project,
  Provider,
} from "../../src";
import { mocks } from "../../src/testing";

const args = { image: "debian-13", flavor: "small", network: "default" };

describe("mocks", () => {
  test("returns the declared resources without hidden inputs, and the exports", async () => {
    const program = () => {
      const count = new pulumi.Config().requireNumber("count");
      const provider = new Provider("eu", { endpoint: "https://eu.example.com" });
      const project = new Project("shop", { region: "eu-1", name: "the-shop" }, { provider });
      const web = new Instance("web", { ...args, project: project.id, publicIp: "auto" }, { provider });
      return { web, address: web.ipAddress, name: web.name, project: project.name, count };
    };
    const { resources, resource, exports } = await mocks(program, { config: { count: "3" } });
    expect(resources.map(({ name }) => name)).toEqual(["eu", "shop", "web"]);
    expect(resource("web")).toEqual({
      ...{ type: Instance.__pulumiType, name: "web", id: "web-id", secretArgs: [] },
      args: {
        ...args,
        project: "shop-id",
        publicIp: "auto",
        name: expect.stringMatching(/^web-[\da-f]{7}$/),
      },
    });
    expect(exports).toMatchObject({
      ...{
        address: expect.stringMatching(/^192\.0\.2\.\d+$/),
        name: resource("web").args.name,
        project: "the-shop",
        count: 3,
      },
    });
    expect(() => resource("db")).toThrow('no resource has the name "db": eu, shop, web');
  });

  test("returns outputs like those of the service, or those that the test sets", async () => {
    const program = () => {
      const given = { ...args, project: "prj-1" };
      const [plain, pinned] = [
        new Instance("plain", given),
        new Instance("pinned", { ...given, publicIp: "198.51.100.7" }),
      ];
      return {
        plain: plain.ipAddress,
        pinned: pinned.ipAddress,
        status: plain.status,
        created: pinned.createdAt,
      };
    };
    const outputs = ({ name }: { name: string }) => (name === "plain" ? { status: "stopped" } : {});
    expect((await mocks(program, { outputs })).exports).toEqual({
      ...{ plain: undefined, pinned: "198.51.100.7", status: "stopped", created: "2026-01-01T00:00:00Z" },
    });
  });

  test("rejects an argument that a preview would reject", async () => {
    const wrong: InstanceArgs = Object({ ...args, project: "prj-1", flavor: 1 });
    await expect(mocks(() => ({ web: new Instance("web", wrong) }))).rejects.toThrow(
      'instance "web": flavor: must be a string, but is a number',
    );
  });

  test("answers functions and `get` from the options", async () => {
    const instances = [
      { id: "ins-1", project: "prj-1", status: "running", labels: { role: "web" }, flavor: "big" },
      { id: "ins-2", project: "prj-1", status: "stopped", labels: { role: "web" } },
    ];
    const program = async () => ({
      running: (await getInstances({ status: "running", labels: { role: "web" } })).map(({ id }) => id),
      ofProject: getInstancesOutput({ project: pulumi.output("prj-1") }).apply((all) => all.length),
      projects: await getProjects(),
      flavor: Instance.get("look", "ins-1").flavor,
    });
    const { exports } = await mocks(program, { instances, projects: [{ id: "prj-1", name: "shop" }] });
    expect(exports).toEqual({
      ...{ running: ["ins-1"], ofProject: 2, projects: [{ id: "prj-1", name: "shop" }], flavor: "big" },
    });
    expect((await mocks(async () => ({ all: await getInstances() }))).exports).toEqual({ all: [] });
  });

  test("has no ids, names or outputs in a preview that a real preview would not have", async () => {
    class Bucket extends pulumi.CustomResource {
      declare readonly arn: pulumi.Output<string>;
      constructor(name: string) {
        super("other:index:Bucket", name, { arn: undefined });
      }
    }
    const instances = [{ id: "ins-1", status: "running" }];
    const program = () => {
      const shop = new Project("shop", { region: "eu-1" });
      const web = new Instance("web", {
        ...args,
        project: shop.id,
        labels: { project: shop.id, team: "shop" },
      });
      return {
        ...{
          id: shop.id,
          name: shop.name,
          region: shop.region,
          project: web.project,
          address: web.ipAddress,
        },
        ...{ url: web.url, arn: new Bucket("logs").arn },
        existing: Instance.get("existing", "ins-1").status,
        later: Instance.get("later", web.id).status,
      };
    };
    const outputs = () => ({ arn: "arn:logs", url: "https://api.example.com" });
    const { resource, exports } = await mocks(program, { preview: true, instances, outputs });
    expect(exports).toEqual({
      ...{ id: undefined, name: undefined, region: "eu-1", project: undefined, address: undefined },
      ...{ url: undefined, arn: undefined, existing: "running", later: undefined },
    });
    expect(resource("shop")).toMatchObject({ id: undefined, args: { region: "eu-1" } });
    expect(resource("web").args).toEqual({ ...args, labels: { team: "shop" } });
    expect(resource("existing").id).toBe("ins-1");
    expect(resource("later").id).toBeUndefined();
  });

  test("finds an object with `get` only among those of its kind", async () => {
    const found = {
      instances: [{ id: "1", flavor: "big" }],
      projects: [
        { id: "1", region: "eu-1" },
        { id: "2", region: "eu-2" },
      ],
    };
    const both = () => ({ flavor: Instance.get("web", "1").flavor, region: Project.get("shop", "1").region });
    expect((await mocks(both, found)).exports).toEqual({ flavor: "big", region: "eu-1" });
    const wrongKind = () => ({ web: Instance.get("web", "2").flavor });
    await expect(mocks(wrongKind, found)).rejects.toThrow(
      'instance "web": no instance has the id "2". Add it to the option `instances` of `mocks`',
    );
    const own = () => {
      const shop = new Project("shop", { region: "eu-3" });
      return { region: Project.get("again", shop.id).region };
    };
    expect((await mocks(own)).exports).toEqual({ region: "eu-3" });
  });

  test("accepts secret arguments, whose plain values it returns, and keeps them secret", async () => {
    const secret = {
      name: "web-1",
      sshKeys: ["ssh-ed25519 AAAA a@b"],
      labels: { team: "shop", pin: "4711" },
    };
    let isSecret: Record<string, boolean> = {};
    const program = async () => {
      const web = new Instance("web", {
        ...args,
        project: "prj-1",
        name: pulumi.secret(secret.name),
        sshKeys: pulumi.secret(secret.sshKeys),
        labels: { team: "shop", pin: pulumi.secret("4711") },
        publicIp: pulumi.secret("198.51.100.7"),
      });
      const { name, sshKeys, labels, ipAddress, additionalProperties, flavor, status } = web;
      const outputs: Record<string, pulumi.Output<unknown>> = {
        name,
        sshKeys,
        labels,
        ipAddress,
        additionalProperties,
        flavor,
        status,
      };
      const marks = Object.entries(outputs).map(async ([key, value]) => [key, await pulumi.isSecret(value)]);
      isSecret = Object.fromEntries(await Promise.all(marks));
      return { name, labels, flavor, address: pulumi.interpolate`http://${ipAddress}` };
    };
    const { resource, exports, secretExports } = await mocks(program);
    expect(resource("web").args).toMatchObject({ ...secret, publicIp: "198.51.100.7" });
    expect(resource("web").secretArgs).toEqual(["labels", "name", "publicIp", "sshKeys"]);
    expect(isSecret).toEqual({
      ...{ name: true, sshKeys: true, labels: true, ipAddress: true, additionalProperties: true },
      ...{ flavor: false, status: false },
    });
    expect(exports).toEqual({
      ...{ name: "web-1", labels: secret.labels, flavor: "small", address: "http://198.51.100.7" },
    });
    expect(secretExports).toEqual(["address", "labels", "name"]);
  });

  test("checks the value of a secret argument without showing it", async () => {
    const wrong = pulumi.secret("-----BEGIN PRIVATE KEY----- 4711");
    const program = () => ({ web: new Instance("web", { ...args, project: "prj-1", sshKeys: [wrong] }) });
    const failure = await mocks(program).catch((error: Error) => error.message);
    expect(failure).toMatch(/^instance "web": sshKeys\[0\]: /);
    expect(failure).not.toContain("4711");
  });

  test("keeps the arguments and outputs of other packages secret", async () => {
    let isSecret: boolean[] = [];
    class Bucket extends pulumi.CustomResource {
      declare readonly key: pulumi.Output<string>;
      declare readonly arn: pulumi.Output<string>;
      constructor(name: string, props: pulumi.Inputs) {
        super("other:index:Bucket", name, { arn: undefined, ...props });
      }
    }
    const program = async () => {
      const { key, arn } = new Bucket("logs", { key: pulumi.secret("k") });
      isSecret = [await pulumi.isSecret(key), await pulumi.isSecret(arn)];
      return { key, arn };
    };
    const outputs = () => ({ arn: "arn:logs" });
    const { exports, resource } = await mocks(program, { outputs });
    expect(exports).toEqual({ key: "k", arn: "arn:logs" });
    expect(isSecret).toEqual([true, false]);
    expect(resource("logs")).toMatchObject({ args: { key: "k" }, secretArgs: ["key"] });
  });
});
