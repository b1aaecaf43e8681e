import { expect, it } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator";
import {
  changesOf,
  expectConverged,
  expectOk,
  noRequestsDuring,
  requestsDuring,
} from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { ConfigValue, Engine } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";
import { ownStates, stateOf } from "../harness/state";

/** The same in two places: without a profile, and with one. */
const programOf = (profile: string, flavor = "small"): string => `
  for (const profile of [undefined, "${profile}"]) {
    const at = profile ? "there" : "here";
    const project = new Project("shop-" + at, { region: "r", profile });
    const fields = { project: project.id, image: "debian", flavor: "${flavor}", network: "n", profile };
    exports[at] = new Instance("web-" + at, fields).id;
  }
`;

const FUNCTIONS = `
  const { getInstances, getProjects } = require("pulumi-cloudinfra");
  exports.found = getInstances({ profile: "eu" }).then((all) => all.map(({ id }) => id));
  exports.projects = getProjects({ profile: "eu" }).then((all) => all.length);
  exports.looked = getInstances({ profile: "eu" }).then(([{ id }]) => Instance.get("look", id, { profile: "eu" }).flavor);
`;

interface TwoPlaces extends Scenario {
  readonly there: Emulator;
  /** The setting `profiles`, in which each of these names leads there. */
  profiles(...names: readonly string[]): ConfigValue;
}

async function withTwoPlaces(engine: Engine, body: (places: TwoPlaces) => Promise<void>): Promise<void> {
  const there = await startEmulator({ token: "token-of-the-other-place", behaviour: { operationMs: 100 } });
  const { endpoint, token } = there;
  const profiles = (...names: readonly string[]): ConfigValue => ({
    secret: JSON.stringify(Object.fromEntries(names.map((name) => [name, { endpoint, token }]))),
  });
  try {
    const config = { "cloudinfra:profiles": profiles("eu") };
    await withStack(engine, { program: programOf("eu"), config }, async (scenario) => {
      await body({ ...scenario, there, profiles });
    });
  } finally {
    await there.stop();
  }
}

const writes = (requests: readonly string[]): string[] =>
  requests.filter((request) => !request.startsWith("GET "));
const counts = ({ projects, instances }: Emulator): number[] => [projects.size, instances.size];

describeLongOnEngines("two places in one program", (engine) => {
  it("go up, are refreshed, change, get another name and go down, each at its own service", async () => {
    await withTwoPlaces(engine, async ({ stack, emulator, there, profiles, write }) => {
      const preview = () =>
        noRequestsDuring(there, () => noRequestsDuring(emulator, () => stack.run("preview")));
      expect(changesOf(expectOk(await preview()))).toEqual({ create: 5 });
      const { outputs } = expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([outputs.here]);
      expect([...there.instances.keys()]).toEqual([outputs.there]);
      expect([counts(emulator), counts(there)]).toEqual([
        [1, 1],
        [1, 1],
      ]);
      await expectConverged({ stack, emulator });
      await expectConverged({ stack, emulator: there });
      const refresh = expectOk(await stack.run("refresh"));
      expect(changesOf(refresh), refresh.output).toEqual({});

      // Somebody else's change there shows, and is put right there.
      there.edit(String(outputs.there), { flavor: "large" });
      expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({ update: 1 });
      const mended = await requestsDuring(there, () => stack.run("up"));
      expect(changesOf(expectOk(mended.value))).toEqual({ update: 1 });
      expect(writes(mended.requests)).toEqual([`PUT /v1/instances/${outputs.there}`]);

      // Another name: the rows say so, and nothing is changed at the service.
      await stack.setConfig("cloudinfra:profiles", profiles("europe"));
      write(programOf("europe"));
      const renamed = await requestsDuring(there, () => stack.run("up"));
      expect(changesOf(expectOk(renamed.value)), renamed.value.output).toEqual({ update: 2 });
      expect(writes(renamed.requests)).toEqual([]);
      const steps = renamed.value.steps.filter(({ op }) => op === "update");
      expect(steps.map(({ diffs }) => diffs)).toEqual([["profile"], ["profile"]]);
      const state = stateOf(await stack.deployment(), "web-there");
      expect([state.inputs?.profile, state.outputs?.profile]).toEqual(["europe", "europe"]);
      await expectConverged({ stack, emulator: there });
      expect(changesOf(expectOk(await stack.run("refresh")))).toEqual({});

      expectOk(await stack.run("destroy"));
      expect([counts(emulator), counts(there)]).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });
  });

  it("stay where they are: a profile that leads elsewhere, or nowhere, is an error in words", async () => {
    await withTwoPlaces(engine, async ({ stack, emulator, there, write }) => {
      expectOk(await stack.run("up"));
      const { endpoint, token } = emulator;
      await stack.setConfig("cloudinfra:profiles", { secret: JSON.stringify({ eu: { endpoint, token } }) });
      write(programOf("eu", "large"));
      const moved = await requestsDuring(there, () => stack.run("up"));
      expect(moved.value.ok).toBe(false);
      expect(moved.value.output).toContain(
        `was recorded at ${there.endpoint}, but the endpoint of the profile "eu" is ${endpoint}`,
      );
      expect(moved.requests).toEqual([]);
      expect(counts(emulator)).toEqual([1, 1]);

      await stack.setConfig("cloudinfra:profiles", { secret: JSON.stringify({ us: { endpoint, token } }) });
      const unknown = await stack.run("refresh", { runProgram: true });
      expect(unknown.ok).toBe(false);
      expect(unknown.output).toContain('there is no profile "eu"; there are: "us"');
      expect(ownStates(await stack.deployment())).toHaveLength(4);
    });
  });

  it("are looked at by functions and `get`", async () => {
    await withTwoPlaces(engine, async ({ stack, there, write }) => {
      const { id: project } = there.addProject({ name: "other", region: "eu" });
      const { id } = there.addInstance({ project, name: "web", image: "i", flavor: "big", network: "n" });
      write(FUNCTIONS);
      const { outputs } = expectOk(await stack.run("up"));
      expect(outputs).toEqual({ found: [id], projects: 1, looked: "big" });
    });
  });
});
