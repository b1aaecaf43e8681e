import { writeFileSync } from "node:fs";
import path from "node:path";
import { startEmulator } from "../../src/emulator";
import { engines } from "../harness/engines";
import { programFolder } from "../harness/program";
import { type Fixture, FOLDER, spelling } from "./fixture";

/*
 * Records the current state format as a fixture, once for each release: `npm run record:state -- <name> <description>`.
 */

const NOW = Math.floor(Date.now() / 1_000) * 1_000;

const program = `
  const project = new Project("p", { region: "eu-1" });
  const args = { project: project.id, image: "ubuntu", flavor: FLAVOR, network: "default" };
  new Instance("web", { ...args, publicIp: "auto", labels: pulumi.secret({ team: "the secret team" }) });
  new Instance("db", { ...args, name: "db", sshKeys: ["ssh-ed25519 AAAAone a@b"] }, { customTimeouts: { delete: "5m" } });
`;

/** Removes paths of the recording machine from the state. */
const withoutPlaces = (key: string, value: unknown): unknown =>
  ["sourcePosition", "stackTrace"].includes(key) ? undefined : value;

async function main([name, about]: readonly (string | undefined)[]): Promise<void> {
  if (name === undefined || about === undefined)
    throw new Error("usage: npm run record:state -- <name> <description>");
  const engine = (await engines()).at(-1);
  if (engine === undefined) throw new Error("no engine is available");
  const emulator = await startEmulator({
    token: "the-token-of-the-fixture",
    behaviour: { operationMs: 0, spelling },
    now: () => NOW,
  });
  const folder = programFolder(`const FLAVOR = "small";${program}`, { name: "scenario" });
  const stack = await engine.open({
    dir: folder.dir,
    project: "scenario",
    stack: "dev",
    config: { "cloudinfra:endpoint": emulator.endpoint, "cloudinfra:token": { secret: emulator.token } },
  });
  const { ok, output } = await stack.run("up");
  if (!ok) throw new Error(output);
  const { endpoint, token, projects, instances } = emulator;
  const fixture: Fixture = {
    ...{ about, program, endpoint, token, now: NOW },
    projects: [...projects.values()].map(({ id, fields }) => ({ id, fields })),
    instances: [...instances.values()].map(({ id, fields, revision, address }) => ({
      ...{ id, fields, revision },
      ...(address !== undefined && { address }),
    })),
    deployment: await stack.deployment(),
  };
  writeFileSync(path.join(FOLDER, `${name}.json`), `${JSON.stringify(fixture, withoutPlaces, 2)}\n`);
  await stack.dispose();
  folder.remove();
  await emulator.stop();
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
