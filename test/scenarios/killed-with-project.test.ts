import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";
import { journalOf, killedCreation } from "./killed";

const program = (names: readonly string[]): string =>
  names.map((name) => `new Project("${name}", { region: "eu-1" });`).join("\n");

describeOnEngines(
  "an instance whose creation was killed, and which the program does not have any more",
  (engine) => {
    it("is deleted before its project, by removal and by destroy; what is in other projects stays", async () => {
      await withStack(engine, { program: program(["one", "two"]) }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        emulator.addProject(); // an account that shows nothing at all would be another one
        expectOk(await stack.run("up"));
        const deployment = await stack.deployment();
        const [one = "", two = ""] = ["one", "two"].map((name) => stateOf(deployment, name).id);
        const kept = await killedCreation(scenario, "kept", { project: one });
        const lost = await killedCreation(scenario, "lost", { project: two, noted: false });
        const deletions = () =>
          emulator.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path.slice(4));

        write(program(["one"]));
        expectOk(await stack.run("up"));
        expect(deletions()).toEqual([`instances/${lost}`, `projects/${two}`]);

        expectOk(await stack.run("destroy"));
        expect(deletions().slice(2)).toEqual([`instances/${kept}`, `projects/${one}`]);
        expect(emulator.instances.size).toBe(0);
        expect(await journalOf(scenario).list()).toEqual([]);
      });
    });
  },
);
