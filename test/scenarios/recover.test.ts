import path from "node:path";
import { describe, expect, it } from "vitest";
import { interruptedCreations } from "../../src/cli/recover-creations";
import { parseExport } from "../../src/cli/stack-export";
import type { Emulator } from "../../src/emulator";
import { openJournal } from "../../src/journal/journal";
import { type RealStack, realStack } from "../cli/real-cli";
import { runRecover } from "../cli/run-recover";
import { expectConverged, expectOk } from "../harness/assertions";
import { isAllWithCli } from "../harness/describe-on-engines";
import type { Stack } from "../harness/engine";
import { engines } from "../harness/engines";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";

const program = (flavor = "small", { name = "web", image = "ubuntu", options = "{}" } = {}): string => `
  const project = new Project("p", { region: "eu-1" });
  const sshKeys = [pulumi.secret("ssh-ed25519 AAAA me")];
  const args = { project: project.id, image: "${image}", flavor: "${flavor}", network: "n", sshKeys };
  new Instance("${name}", { ...args, labels: { tier: "web", app: "shop" } }, ${options});
`;

const PROJECT_ONLY = 'new Project("p", { region: "eu-1" });';

const WEB = "urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::web";

/** The requests for creations of instances that the service has received, including retries. */
const posts = (emulator: Emulator) =>
  emulator.requests.filter(({ method, path }) => method === "POST" && path === "/v1/instances");

/** The id of the service's only instance. */
function onlyInstance({ instances }: Emulator): string {
  const [id = "", ...others] = instances.keys();
  expect(others).toEqual([]);
  return id;
}

// The real engine's import drops pending operations. Therefore, the tests with the real CLI below kill a command.
describe("a machine that didn't run the interrupted up, on the fake engine", async () => {
  const fakes = (await engines()).filter(({ name }) => name === "fake");

  /** Imports the state of an `up` that was killed after its request arrived, while the stack was named `formerName`. */
  async function importKilledState(stack: Stack, formerName = "dev"): Promise<void> {
    expectOk(await stack.run("up"));
    const deployment = await stack.deployment();
    const {
      id: _id,
      outputs: _outputs,
      created: _created,
      modified: _modified,
      ...resource
    } = stateOf(deployment, "web");
    await stack.import({
      ...deployment,
      resources: (deployment.resources ?? []).filter(({ urn }) => urn !== WEB),
      pending_operations: [
        {
          type: "creating",
          resource: {
            ...resource,
            inputs: { ...resource.inputs, __urn: WEB.replace("pulumi:dev:", `pulumi:${formerName}:`) },
          },
        },
      ],
    });
  }

  it.each(
    fakes.flatMap((engine) => [
      { engine, when: "", formerName: "dev" },
      { engine, when: " if the stack was renamed", formerName: "former" },
    ]),
  )("resumes the creation after `recover`$when", async ({ engine, formerName }) => {
    await withStack(engine, { program: program() }, async ({ stack, emulator, leaks, dir }) => {
      await importKilledState(stack, formerName);
      const env = { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "of-another-machine") };
      const stdin = JSON.stringify({ version: 3, deployment: await stack.deployment() });
      const recovered = await runRecover(dir, ["--file", "-"], { stdin, env });
      expect(recovered).toMatchObject({ code: 0, stderr: "" });
      leaks.said("recover", recovered);
      expectOk(await stack.run("up", { env }));
      expect(posts(emulator)).toHaveLength(2);
      expect(statesOf(await stack.deployment(), "web").map((web) => web.id)).toEqual([
        onlyInstance(emulator),
      ]);
      await expectConverged({ stack, emulator });
      const held = JSON.stringify({ version: 3, deployment: await stack.deployment() });
      const again = await runRecover(dir, ["--file", "-"], { stdin: held, env });
      expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Nothing to recover\.\n/) });
    });
  });

  it.each(fakes)("creates a duplicate without `recover`", async (engine) => {
    await withStack(engine, { program: program() }, async ({ stack, emulator, dir }) => {
      await importKilledState(stack);
      expectOk(
        await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "of-another-machine") } }),
      );
      expect(emulator.instances.size).toBe(2);
    });
  });
});

const real = [pulumiOnPath()].filter((file) => file !== undefined);

describe.each(real)("a machine that didn't run the killed up (%s)", (pulumi) => {
  /** Runs `recover` on a machine, and returns its output and the journal entry. */
  async function runRecoverAndRead({ dir, emulator, leaks }: RealStack, env: Record<string, string>) {
    const recovered = await runRecover(dir, [], { env });
    expect(recovered).toMatchObject({ code: 0, stderr: "" });
    leaks.said("recover", recovered);
    const warn = (message: string): never => {
      throw new Error(message);
    };
    const journal = openJournal({
      endpoint: emulator.endpoint,
      dir: env.CLOUDINFRA_JOURNAL_DIR,
      cwd: dir,
      env,
      warn,
    });
    return { said: recovered.stdout, entry: await journal.read({ urn: WEB }) };
  }

  const stateOfWeb = async ({ run }: RealStack, env: Record<string, string>) => {
    await run(env, "stack", "export", "--show-secrets");
    const { deployment } = JSON.parse(await run(env, "stack", "export"));
    return { ids: statesOf(deployment, "web").map(({ id }) => id), pending: deployment.pending_operations };
  };

  it("resumes the creation after `recover`, even if the next up is killed, too", async () => {
    const stack = await realStack(pulumi, program());
    const { emulator } = stack;
    emulator.behaviour.operationMs = 600_000;
    await stack.killedUp(stack.machine("first"));
    const [sent] = posts(emulator);

    const second = stack.machine("second");
    const { entry } = await runRecoverAndRead(stack, second);
    expect(entry).toMatchObject({ body: sent?.body, key: sent?.headers["idempotency-key"], recovered: true });
    expect(entry?.at).toBeLessThanOrEqual(sent?.at ?? 0);
    stack.write(program("large"));
    await stack.killedUp(second);
    expect(posts(emulator)).toHaveLength(2);

    const third = stack.machine("third");
    const { said, entry: again } = await runRecoverAndRead(stack, third);
    expect(again).toMatchObject({ body: sent?.body, key: sent?.headers["idempotency-key"] });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 100;
    await stack.run(third, "up", "--yes", "--skip-preview");
    const id = onlyInstance(emulator);
    expect(emulator.instances.get(id)?.fields.flavor).toBe("large");
    expect(await stateOfWeb(stack, third)).toMatchObject({ ids: [id], pending: expect.anything() });

    const [, clear = ""] = /^ {2}pulumi (refresh .*)$/m.exec(said) ?? [];
    const asked = emulator.requests.length;
    await stack.run(third, ...clear.replaceAll("'", "").split(" "));
    expect(await stateOfWeb(stack, third)).toEqual({ ids: [id], pending: undefined });
    expect(emulator.requests.length, "clearing the pending operations sends no requests").toBe(asked);
    expect((await runRecoverAndRead(stack, stack.machine("fourth"))).said).toBe("Nothing to recover.\n");
  });

  it("resumes the creation after `pulumi stack rename` and `recover`", async () => {
    const stack = await realStack(pulumi, program());
    const { emulator } = stack;
    emulator.behaviour.operationMs = 600_000;
    const first = stack.machine("first");
    await stack.killedUp(first);
    await stack.run(first, "stack", "rename", "renamed");

    const second = stack.machine("second");
    const recovered = await runRecover(stack.dir, [], { env: second });
    expect(recovered).toMatchObject({ code: 0, stderr: "" });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 1;
    await stack.run(second, "up", "--yes", "--skip-preview");
    expect(new Set(posts(emulator).map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    const { ids } = await stateOfWeb(stack, second);
    expect(ids).toEqual([onlyInstance(emulator)]);
  });

  it("resumes the creation of an explicit provider with settings from the state", async () => {
    const stack = await realStack(pulumi, "");
    const { emulator } = stack;
    const first = stack.machine("first");
    await stack.run(first, "config", "set", "cloudinfra:endpoint", "https://elsewhere.example.com");
    await stack.run(first, "config", "set", "--secret", "ours:token", emulator.token);
    const settings = `{ endpoint: "${emulator.endpoint}", token: new pulumi.Config("ours").requireSecret("token") }`;
    stack.write(`
      const provider = new Provider("ours", ${settings});
      const project = new Project("p", { region: "eu-1" }, { provider });
      const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
      new Instance("web", args, { provider });
    `);
    emulator.behaviour.operationMs = 600_000;
    await stack.killedUp(first);
    const second = stack.machine("second");
    expect(await runRecover(stack.dir, [], { env: second })).toMatchObject({ code: 0, stderr: "" });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 1;
    await stack.run(second, "up", "--yes", "--skip-preview");
    expect(new Set(posts(emulator).map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    const { ids } = await stateOfWeb(stack, second);
    expect(ids).toEqual([onlyInstance(emulator)]);
  });

  it("resumes the creation after `pulumi config set cloudinfra:journalDir` and `recover`", async () => {
    const stack = await realStack(pulumi, program());
    const { emulator } = stack;
    emulator.behaviour.operationMs = 600_000;
    await stack.killedUp(stack.machine("first"));
    const second = stack.machine("second");
    await stack.run(second, "config", "set", "cloudinfra:journalDir", "journal");
    expect(await runRecover(stack.dir, [], { env: second })).toMatchObject({ code: 0, stderr: "" });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 1;
    await stack.run(second, "up", "--yes", "--skip-preview");
    const { ids } = await stateOfWeb(stack, second);
    expect(ids).toEqual([onlyInstance(emulator)]);
  });

  it.skipIf(!isAllWithCli)(
    "keeps an object that retainOnDelete released while its creation is still a pending operation",
    async () => {
      const stack = await realStack(pulumi, program("small", { options: "{ retainOnDelete: true }" }));
      const { emulator } = stack;
      emulator.behaviour.operationMs = 600_000;
      await stack.killedUp(stack.machine("first"));
      emulator.finishOperations();
      emulator.behaviour.operationMs = 1;
      const job = async (name: string): Promise<void> => {
        const env = stack.machine(name);
        await runRecoverAndRead(stack, env);
        await stack.run(env, "up", "--yes", "--skip-preview");
      };
      await job("second");
      const id = onlyInstance(emulator);
      stack.write(PROJECT_ONLY);
      await job("third");
      expect(onlyInstance(emulator)).toBe(id);
      stack.write(program("small", { image: "debian" }));
      await job("fourth");
      expect(emulator.instances.size).toBe(2);
      expect(emulator.instances.has(id)).toBe(true);
    },
  );

  const replacements = [
    ["under a new name", "www", '{ aliases: [{ name: "web" }] }'],
    ["after the deletion of the old resource", "web", "{ deleteBeforeReplace: true }"],
  ];
  it.each(isAllWithCli ? replacements : replacements.slice(0, 1))(
    "finds the resource that a killed creation replaces %s",
    async (_, name, options) => {
      const stack = await realStack(pulumi, program());
      const { emulator } = stack;
      emulator.behaviour.operationMs = 1;
      const env = stack.machine("first");
      await stack.run(env, "up", "--yes", "--skip-preview");
      const [made] = posts(emulator);
      stack.write(program("small", { name, image: "debian", options }));
      await stack.killedUp(env);
      const deployment = parseExport(await stack.run(env, "stack", "export", "--show-secrets"));
      expect(interruptedCreations(deployment)).toMatchObject([
        {
          kind: "instance",
          name,
          entry: {
            key: posts(emulator)[1]?.headers["idempotency-key"],
            replaces: made?.headers["idempotency-key"],
          },
        },
      ]);
    },
  );
});
