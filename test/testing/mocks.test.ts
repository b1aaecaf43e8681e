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
  test("tell what a program declares, without what this package adds, and what it exports", async () => {
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
      ...{ type: Instance.__pulumiType, name: "web", id: "web-id" },
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

  test("give outputs as the service returns them, or as the test says", async () => {
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

  test("fail for an argument that a preview would reject", async () => {
    const wrong: InstanceArgs = Object({ ...args, project: "prj-1", flavor: 1 });
    await expect(mocks(() => ({ web: new Instance("web", wrong) }))).rejects.toThrow(
      'instance "web": flavor: must be a string, but is a number',
    );
  });

  test("answer functions and `get` from lists", async () => {
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

  test("leave generated names unknown in a preview", async () => {
    const program = () => ({ shop: new Project("shop", { region: "eu-1" }) });
    expect((await mocks(program, { preview: true })).resource("shop").args).toEqual({ region: "eu-1" });
  });
});
