import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Emulator } from "../../src/emulator";
import { openJournal } from "../../src/journal/journal";
import { type RealStack, realStack } from "../cli/real-cli";
import { runRecover } from "../cli/run-recover";
import { expectConverged, expectOk } from "../harness/assertions";
import type { Stack } from "../harness/engine";
import { engines } from "../harness/engines";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";

const program = (flavor = "small"): string => `
  const project = new Project("p", { region: "eu-1" });
  const sshKeys = [pulumi.secret("ssh-ed25519 AAAA me")];
  const args = { project: project.id, image: "ubuntu", flavor: "${flavor}", network: "n", sshKeys };
  new Instance("web", { ...args, labels: { tier: "web", app: "shop" } });
`;

const WEB = "urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::web";

/** The creation requests for instances that the service has seen. */
const posts = (emulator: Emulator) =>
  emulator.requests.filter(({ method, path }) => method === "POST" && path === "/v1/instances");

/** The id of the one instance that the service has. */
function onlyInstance({ instances }: Emulator): string {
  const [id = "", ...others] = instances.keys();
  expect(others).toEqual([]);
  return id;
}

// The real engine's import drops pending operations, so there it takes a kill: below.
describe("a machine that did not make the up that was cut off, on the fake engine", async () => {
  const fakes = (await engines()).filter(({ name }) => name === "fake");

  /** The state as an `up` leaves it that is killed when its request has arrived. */
  async function cutOff(stack: Stack): Promise<void> {
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
      pending_operations: [{ type: "creating", resource }],
    });
  }

  it.each(fakes)(
    "goes on with the creation after `recover`: one object, known to the state",
    async (engine) => {
      await withStack(engine, { program: program() }, async ({ stack, emulator, leaks, dir }) => {
        await cutOff(stack);
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
        expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^nothing to recover\n/) });
      });
    },
  );

  it.each(fakes)("makes another without `recover`, which is why a CI job runs it first", async (engine) => {
    await withStack(engine, { program: program() }, async ({ stack, emulator, dir }) => {
      await cutOff(stack);
      expectOk(
        await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "of-another-machine") } }),
      );
      expect(emulator.instances.size).toBe(2);
    });
  });
});

const real = [pulumiOnPath()].filter((file) => file !== undefined);

describe.each(real)("a machine that did not make the up that was killed (%s)", (pulumi) => {
  /** Runs `recover` on a machine, and gives what it noted. */
  async function noted({ dir, emulator, leaks }: RealStack, env: Record<string, string>) {
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

  it("notes the request as it was sent, goes on with it, and is killed, changed and gone on with again", async () => {
    const stack = await realStack(pulumi, program());
    const { emulator } = stack;
    emulator.behaviour.operationMs = 600_000;
    await stack.killedUp(stack.machine("first"));
    const [sent] = posts(emulator);

    const second = stack.machine("second");
    const { entry } = await noted(stack, second);
    expect(entry).toMatchObject({ body: sent?.body, key: sent?.headers["idempotency-key"], recovered: true });
    expect(entry?.at).toBeLessThanOrEqual(sent?.at ?? 0);
    stack.write(program("large"));
    await stack.killedUp(second);
    expect(posts(emulator)).toHaveLength(2);

    const third = stack.machine("third");
    const { said, entry: again } = await noted(stack, third);
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
    expect(emulator.requests.length, "clearing the list asks the service nothing").toBe(asked);
    expect((await noted(stack, stack.machine("fourth"))).said).toBe("nothing to recover\n");
  });
});
