import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines, describeOnEngines } from "../harness/describe-on-engines";
import { withElsewhere } from "../harness/elsewhere";
import { withStack } from "../harness/scenario";
import { stateOf } from "../harness/state";
import { forget, killedCreation } from "./killed";

const program = (flavor: string): string => `
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", { project: project.id, image: "ubuntu", flavor: "${flavor}", network: "n" });
`;

describeOnEngines("a wrong endpoint", (engine) => {
  it("can be corrected as the hint says, so that `up` creates each object once", async () => {
    const wrong = await startEmulator();
    onTestFinished(() => wrong.stop());
    wrong.fail({ kind: "html", status: 502, times: Number.POSITIVE_INFINITY });
    const config = { "cloudinfra:endpoint": wrong.endpoint, "cloudinfra:operationTimeout": "1s" };
    await withStack(engine, { program: program("small"), config }, async (scenario) => {
      const { stack, emulator, dir } = scenario;
      expect(await stack.run("up")).toMatchObject({ ok: false });
      await stack.setConfig("cloudinfra:endpoint", emulator.endpoint);
      const { ok, output } = await stack.run("up");
      const { id, urn } = stateOf(await stack.deployment(), "p");
      expect({ ok, id }).toEqual({ ok: false, id: expect.stringMatching(/^operation\//) });
      expect(output.replace(/\s+/g, " ")).toContain(
        "run `npx pulumi-cloudinfra recover --forget <urn>`, then `pulumi up`",
      );
      await forget(scenario, urn);
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });
      expect([emulator.projects.size, emulator.instances.size]).toEqual([1, 1]);
      expect(readdirSync(path.join(dir, "journal")).filter((name) => name.endsWith(".jsonl"))).toEqual([]);
    });
  });
});

describeOnEngines("an endpoint that changes after a killed creation", (engine) => {
  it("receives no requests, and `up` with the former endpoint resumes the creation", async () => {
    const other = await startEmulator();
    onTestFinished(() => other.stop());
    await withStack(engine, { program: "" }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      const { id: project } = emulator.addProject();
      write(
        `new Instance("web", { project: "${project}", image: "ubuntu", flavor: "small", network: "n" });`,
      );
      const made = await killedCreation(scenario, "web", { project });
      await stack.setConfig("cloudinfra:endpoint", other.endpoint);
      for (const command of ["preview", "up"] as const) {
        const { ok, output } = await stack.run(command);
        expect(ok).toBe(false);
        expect(output.replace(/\s+/g, " ")).toContain(
          `an interrupted creation of this instance with the default provider at ${emulator.endpoint} may have created an object there`,
        );
      }
      expect(other.requests).toEqual([]);
      await stack.setConfig("cloudinfra:endpoint", emulator.endpoint);
      expectOk(await stack.run("up"));
      expect(stateOf(await stack.deployment(), "web").id).toBe(made);
      expect([...emulator.instances.keys()]).toEqual([made]);
    });
  });
});

describeLongOnEngines("another origin receives no requests", (engine) => {
  it("if links point to it, because requests go to the endpoint instead", async () => {
    const behaviour = { projectPost: 202, putReply: 202, deleteObject: 202, resultLink: "early" } as const;
    await withStack(
      engine,
      { program: program("small"), behaviour },
      async ({ stack, emulator, leaks, write }) =>
        withElsewhere(leaks, async (elsewhere) => {
          emulator.behaviour.linkOrigin = elsewhere.url;
          expectOk(await stack.run("up"));
          write(program("large"));
          expectOk(await stack.run("up"));
          expect([...emulator.instances.values()].map(({ fields }) => fields.flavor)).toEqual(["large"]);
          expectOk(await stack.run("destroy"));
          expect(emulator.projects.size).toBe(0);
          expect(elsewhere.requests).toEqual([]);
        }),
    );
  });

  it("if the service redirects to it, because the command fails and keeps the state", async () => {
    await withStack(engine, { program: program("small") }, async ({ stack, emulator, leaks }) =>
      withElsewhere(leaks, async (elsewhere) => {
        expectOk(await stack.run("up"));
        const location = `${elsewhere.url}/v1/projects?limit=200`;
        const moved = emulator.fail({
          kind: "status",
          status: 307,
          location,
          times: Number.POSITIVE_INFINITY,
        });
        for (const command of ["refresh", "destroy"] as const) {
          const result = await stack.run(command);
          expect(result.ok).toBe(false);
          expect(result.output).toContain(
            `the endpoint returned a redirect (307) to ${elsewhere.url}/v1/projects`,
          );
        }
        moved.off();
        expect(elsewhere.requests).toEqual([]);
        expect(emulator.instances.size).toBe(1);
      }),
    );
  });
});
