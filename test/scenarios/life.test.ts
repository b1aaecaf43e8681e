import { describe, expect, it } from "vitest";
import { changesOf, expectConverged, expectOk } from "../harness/assertions";
import type { Engine } from "../harness/engine";
import { engines } from "../harness/engines";
import { withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";
import { eachAlone, pairwise, title } from "./variants";

/**
 * With `CLOUDINFRA_TEST_LIVES=full`, each variant and each pair of variants. Otherwise, six combinations on the fake engine,
 * and one with the CLI, which is slow.
 */
const full = process.env.CLOUDINFRA_TEST_LIVES === "full";
const livesOn = (engine: Engine) =>
  full ? [...eachAlone(), ...pairwise()] : pairwise(engine.name === "fake" ? 6 : 1);

const program = (web: string, db: string): string => `
  const project = new Project("shop", { region: "eu-1" });
  const common = { project: project.id, network: "default", publicIp: "auto", sshKeys: ["ssh-ed25519 AAAA a@b"] };
  const web = new Instance("web", { ...common, image: "ubuntu", labels: { tier: "front" }, ${web} });
  const db = new Instance("db", { ...common, name: "db", flavor: "small", ${db} });
  exports.address = web.ipAddress;
`;

/** The expectations are the same for every variant of the service. */
describe("a project with two instances is created, updated, replaced, refreshed and destroyed", async () => {
  for (const engine of await engines()) {
    describe(`on ${engine.name}`, () => {
      it.each(livesOn(engine).map((behaviour) => ({ behaviour, name: title(behaviour) })))(
        "$name",
        async ({ behaviour }) => {
          const source = program('flavor: "small"', 'image: "debian"');
          await withStack(engine, { program: source, behaviour }, async ({ stack, emulator, write }) => {
            const instance = (name: string) =>
              [...emulator.instances.values()].filter(({ fields }) => String(fields.name).startsWith(name));

            const made = expectOk(await stack.run("up"));
            expect(changesOf(made)).toMatchObject({ create: 4 });
            expect(made.outputs.address).toMatch(/^203\.0\.113\./);
            expect(instance("web")).toHaveLength(1);
            expect(instance("db")).toHaveLength(1);
            await expectConverged({ stack, emulator });

            write(program('flavor: "large"', 'image: "debian-13"'));
            const webBefore = instance("web")[0]?.id;
            if (behaviour.deleteObject === 405) {
              // The service can't delete instances, so the replaced instance stays and the error suggests alternatives.
              const refused = await stack.run("up");
              expect(refused.ok).toBe(false);
              expect(refused.output).toMatch(/doesn't support deleting instances/);
              expect(refused.output).toMatch(/retainOnDelete/);
              expect(instance("db")).toHaveLength(1);
              emulator.behaviour.deleteObject = 204;
            }
            expectOk(await stack.run("up"));
            expect(instance("web").map(({ id, fields }) => ({ id, flavor: fields.flavor }))).toEqual([
              { id: webBefore, flavor: "large" },
            ]);
            expect(instance("db").map(({ fields }) => fields.image)).toEqual(["debian-13"]);
            expect(inClear(stateOf(await stack.deployment(), "web").outputs)).toMatchObject({
              flavor: "large",
            });

            const refreshed = expectOk(await stack.run("refresh"));
            expect(changesOf(refreshed), refreshed.output).toEqual({});
            await expectConverged({ stack, emulator });

            expectOk(await stack.run("destroy"));
            expect(emulator.instances.size).toBe(0);
            expect(emulator.projects.size).toBe(0);
          });
        },
      );
    });
  }
});
