import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";

const program = `
  class Shop extends pulumi.ComponentResource {
    constructor(name) {
      super("test:Shop", name);
      const parent = { parent: this };
      const project = new Project(name + "-project", { region: "eu-1" }, parent);
      const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
      const db = new Instance(name + "-db", args, parent);
      this.web = new Instance(name + "-web", { ...args, labels: { db: db.name } }, parent);
    }
  }
  exports.web = new Shop("shop").web.name;
`;

describeLongOnEngines("resources inside a component", (engine) => {
  it("depend only on the resources that they refer to", async () => {
    await withStack(engine, { program }, async ({ stack, emulator }) => {
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ create: 5 });
      const state = await stack.deployment();
      const urnOf = (name: string): string => stateOf(state, name).urn;
      const needs = (name: string): unknown => [...(stateOf(state, name).dependencies ?? [])].sort();
      expect(needs("shop-project")).toEqual([]);
      expect(needs("shop-db")).toEqual([urnOf("shop-project")]);
      expect(needs("shop-web")).toEqual([urnOf("shop-db"), urnOf("shop-project")].sort());
      expect(urnOf("shop-web")).toContain("test:Shop$pulumi-nodejs:dynamic/cloudinfra:Instance");
      expect(stateOf(state, "shop-web").sourcePosition, "position in the program").toMatch(/index\.js#\d/);
      await expectConverged({ stack, emulator });
      expectOk(await stack.run("destroy"));
      expect(emulator.projects.size).toBe(0);
    });
  });
});
