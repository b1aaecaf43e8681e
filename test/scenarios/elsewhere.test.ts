import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withElsewhere } from "../harness/elsewhere";
import { withStack } from "../harness/scenario";

const program = (flavor: string): string => `
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", { project: project.id, image: "ubuntu", flavor: "${flavor}", network: "n" });
`;

describeLongOnEngines("another origin is never asked, with the token or without", (engine) => {
  it("where the service's links lead there: the same is asked of the endpoint instead", async () => {
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

  it("where the service redirects there: an error says so, and nothing is taken out of the state", async () => {
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
            `it answered with a redirect (307) to ${elsewhere.url}/v1/projects`,
          );
        }
        moved.off();
        expect(elsewhere.requests).toEqual([]);
        expect(emulator.instances.size).toBe(1);
      }),
    );
  });
});
