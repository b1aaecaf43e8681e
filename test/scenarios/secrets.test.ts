import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import type { Deployment } from "../harness/engine";
import { withStack } from "../harness/scenario";
import { inClear, isSecret, stateOf } from "../harness/state";
import { MOST_VERBOSE } from "../harness/watched-stack";

const SECRET = "hush-hush-flavor";

const program = (flavor: string, options = ""): string => `
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", {
    project: project.id, image: "ubuntu", network: "n", publicIp: "auto",
    flavor: pulumi.secret("${flavor}"), labels: { deep: pulumi.secret("${flavor}-label") },
  }, { ${options} });
`;

/** The state as text, without secrets. */
function withoutSecrets(deployment: Deployment): string {
  return JSON.stringify(deployment, (_key, value: unknown) => (isSecret(value) ? "[secret]" : value));
}

describeOnEngines("secrets", (engine) => {
  it("stay secret in state, output and errors of creations, refreshes, updates and failures", async () => {
    const behaviour = { extraFields: { first_password: "opened-sesame" } };
    await withStack(engine, { program: program(SECRET), behaviour }, async ({ stack, emulator, write }) => {
      const outputs: string[] = [];
      const run = async (command: "up" | "refresh"): Promise<boolean> => {
        const result = await stack.run(command);
        outputs.push(result.output, ...result.diagnostics.map(({ message }) => message));
        return result.ok;
      };
      const check = async (flavor: string): Promise<void> => {
        const deployment = await stack.deployment();
        const web = stateOf(deployment, "web");
        expect(inClear(web.inputs)).toMatchObject({ flavor, __secrets: ["flavor", "labels"] });
        expect(inClear(web.outputs)).toMatchObject({
          flavor,
          additionalProperties: { first_password: "opened-sesame" },
        });
        const open = withoutSecrets(deployment);
        expect(open).not.toContain("hush");
        expect(open).not.toContain("opened-sesame");
        expect(open).not.toContain(emulator.token);
      };

      expect(await run("up")).toBe(true);
      await check(SECRET);
      expect(await run("refresh")).toBe(true);
      await check(SECRET);
      emulator.edit([...emulator.instances.keys()][0] ?? "", { flavor: "hush-drifted" });
      expect(await run("refresh")).toBe(true);
      await check("hush-drifted");
      expect(await run("up")).toBe(true);
      await check(SECRET);
      await expectConverged({ stack, emulator });

      write(program("unknown-hush-2"));
      expect(await run("up")).toBe(false);
      expect(outputs.join("\n")).toMatch(/flavor: .*\[secret\]/);
      expect(outputs.join("\n")).not.toContain("hush");
      expect(outputs.join("\n")).not.toContain(emulator.token);
      await check(SECRET);
    });
  });

  it("stay secret if the service normalizes them, and in outputs that contain them", async () => {
    const source = (flavor: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const web = new Instance("web", {
        project: project.id, image: "ubuntu", network: "n", name: pulumi.secret("hush-name"),
        flavor: pulumi.secret("${flavor}"), publicIp: pulumi.secret("198.51.100.77"),
      });
      exports.flavor = web.flavor;
      exports.address = web.ipAddress;
      exports.image = web.image;
    `;
    const spelling = (now: object): object => {
      const { flavor, name } = Object(now);
      return { ...now, flavor: `FLV-OF-${flavor}`.toUpperCase(), url: `https://example.com/${name}` };
    };
    await withStack(
      engine,
      { program: source("h-small"), behaviour: { spelling } },
      async ({ stack, emulator, write }) => {
        const expectNoPlaintext = async (): Promise<void> => {
          const deployment = await stack.deployment();
          expect(inClear(stateOf(deployment, "web").outputs)).toMatchObject({
            ...{ ipAddress: "198.51.100.77", url: "https://example.com/hush-name" },
            __words: { flavor: expect.stringMatching(/^FLV-OF-H-/) },
          });
          expect(withoutSecrets(deployment)).not.toMatch(/FLV-OF|198\.51|hush-name/);
        };
        const { output, outputs } = expectOk(await stack.run("up"));
        expect(outputs).toMatchObject({ address: "198.51.100.77", image: "ubuntu" });
        expect(output).not.toContain("198.51");
        await expectNoPlaintext();
        await expectConverged({ stack, emulator });
        for (const id of emulator.instances.keys()) emulator.touch(id);
        const refreshed = expectOk(await stack.run("refresh"));
        expect(changesOf(refreshed), refreshed.output).toEqual({});
        await expectNoPlaintext();
        write(source("h-large"));
        expectOk(await stack.run("up"));
        await expectNoPlaintext();
        await expectConverged({ stack, emulator });
      },
    );
  });

  it("stay secret in the state of an interrupted creation that is resumed with other secrets", async () => {
    const source = program(SECRET, 'customTimeouts: { create: "1500ms" }');
    const behaviour = { operationMs: 600_000 };
    await withStack(engine, { program: source, behaviour }, async ({ stack, emulator, write }) => {
      expect((await stack.run("up")).output).toMatch(
        /timed\s+out\s+after\s.*\swaiting\s+for\s+operation\s+op-[0-9a-f]+/,
      );
      expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\//);
      emulator.finishOperations();
      emulator.behaviour.operationMs = 100;
      write(program("other-hush-flavor"));
      expectOk(await stack.run("up"));
      expect([...emulator.instances.values()].map(({ fields }) => fields.flavor)).toEqual([
        "other-hush-flavor",
      ]);
    });
  });

  it("stay secret in an error of another resource, and in the state after this error", async () => {
    const source = (flavor: string): string => `
      const project = new Project("p", { region: "eu-1", name: pulumi.secret("hush-project") });
      new Instance("web", { project: project.id, image: "ubuntu", network: "n", flavor: "${flavor}" });
    `;
    const behaviour = { putReply: 202 } as const;
    await withStack(engine, { program: source("small"), behaviour }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      const problem = { detail: "the quota of project 'hush-project' is exceeded" };
      emulator.failNextOperation({ kind: "update", problem });
      write(source("large"));
      const { ok, output } = await stack.run("up");
      expect(ok).toBe(false);
      const state = withoutSecrets(await stack.deployment());
      for (const text of [output, state]) {
        expect(text).toContain("the quota of project '[secret]' is exceeded");
        expect(text).not.toContain("hush");
      }
    });
  });

  it("stay secret if `ignoreChanges` keeps them and the program sets plaintext values", async () => {
    const source = (name: string, more: string): string => `
      const project = new Project("p", { region: "eu-1" });
      new Instance("web", {
        project: project.id, image: "ubuntu", name: ${name}, ${more}
      }, { ignoreChanges: ["name"] });
    `;
    const spelling = (now: object): object => ({ ...now, url: `https://example.com/${Object(now).name}` });
    const first = source('pulumi.secret("hush-name")', 'network: "n", flavor: "small"');
    await withStack(
      engine,
      { program: first, behaviour: { spelling } },
      async ({ stack, emulator, write }) => {
        expectOk(await stack.run("up"));
        for (const more of [
          'network: "m", flavor: "small"',
          'network: "m", flavor: "unknown"',
          'network: "m", flavor: "small", labels: { team: "a" }',
        ]) {
          write(source('"web"', more));
          const { output } = await stack.run("up");
          expect(output).not.toContain("hush");
          const deployment = await stack.deployment();
          expect(inClear(stateOf(deployment, "web").outputs)).toMatchObject({
            url: expect.stringContaining("hush-name"),
          });
          expect(withoutSecrets(deployment)).not.toContain("hush");
        }
        await expectConverged({ stack, emulator });
      },
    );
  });

  it("stay secret if the program removes them but the service keeps them", async () => {
    const source = (labels: string): string => `
      const project = new Project("p", { region: "eu-1" });
      const given = { project: project.id, image: "ubuntu", network: "n", flavor: "small" };
      new Instance("web", { ...given, labels: { team: "a", ${labels} } });
    `;
    const before = source(`deep: pulumi.secret("${SECRET}")`);
    await withStack(engine, { program: before }, async ({ stack, emulator, write }) => {
      expectOk(await stack.run("up"));
      emulator.ignoreUpdatesOf("labels");
      write(source(""));
      for (const command of ["up", "refresh", "refresh", "up"] as const) {
        const { ok, output } = await stack.run(command);
        expect(ok).toBe(command === "refresh");
        expect(output).not.toContain("hush");
        expect(withoutSecrets(await stack.deployment())).not.toContain("hush");
      }
      emulator.edit([...emulator.instances.keys()][0] ?? "", { labels: { team: "a" } });
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });
      expect(withoutSecrets(await stack.deployment())).toContain('"labels":{"team":"a"}');
    });
  });

  it("from settings occur only in the default provider's configuration, and a plaintext token causes a warning", async () => {
    const source = 'new Project("p", { region: "eu-1" });';
    await withStack(engine, { program: source }, async ({ stack, emulator }) => {
      const quiet = expectOk(await stack.run("up"));
      expect(quiet.output).not.toMatch(/in plaintext/);
      const own = (await stack.deployment()).resources?.filter(
        ({ type }) => !type.startsWith("pulumi:providers:"),
      );
      expect(JSON.stringify(inClear(own))).not.toContain(emulator.token);
      const inTheClear = "a-token-for-all-to-see";
      emulator.changeToken(inTheClear);
      await stack.setConfig("cloudinfra:token", inTheClear);
      const warned = expectOk(await stack.run("up"));
      const warnings = warned.diagnostics.filter(({ severity }) => severity === "warning");
      expect(warnings.map(({ message }) => message).join("\n")).toMatch(
        /cloudinfra:token is stored in plaintext/,
      );
      expect(warned.output).not.toContain(inTheClear);
    });
  });

  it("don't occur in debug logs of this package or Node", async () => {
    await withStack(
      engine,
      { program: program(SECRET), env: MOST_VERBOSE },
      async ({ stack, leaks, emulator, write }) => {
        const up = expectOk(await stack.run("up"));
        expect(up.output).toMatch(/UNDICI \d+: sending request to POST/);
        if (engine.name === "pulumi") expect(up.output).toContain("Marshaling property for RPC");
        expect((await stack.deployment()).resources).toHaveLength(4);
        expect(leaks.leaks()).toEqual([]);
        emulator.fail({ method: "PUT", kind: "reset", times: 2 });
        write(program("unknown-hush-2"));
        expect((await stack.run("up")).ok).toBe(false);
      },
    );
  });
});
