import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";
import { journalOf, killedCreation } from "./killed";

const program = (names: readonly string[]): string =>
  names.map((name) => `new Project("${name}", { region: "eu-1" });`).join("\n");

describeOnEngines(
  "an instance whose creation was killed and whose resource was removed from the program",
  (engine) => {
    it("is deleted before its project when the project is removed or destroyed", async () => {
      await withStack(engine, { program: program(["one", "two"]) }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        emulator.addProject(); // An account without any objects would count as another account.
        expectOk(await stack.run("up"));
        const deployment = await stack.deployment();
        const [one = "", two = ""] = ["one", "two"].map((name) => stateOf(deployment, name).id);
        const keyOf = (name: string): unknown => stateOf(deployment, name).inputs?.__key;
        const kept = await killedCreation(scenario, "kept", { project: one, projectKey: keyOf("one") });
        const ofTwo = { project: two, projectKey: keyOf("two"), isReplyRecorded: false };
        const lost = await killedCreation(scenario, "lost", ofTwo);
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
