import { expect, it } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator";
import { changesOf, expectConverged, expectOk, noRequestsDuring } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import type { Engine, Stack } from "../harness/engine";
import { type ProgramFolder, programFolder } from "../harness/program";
import { isSecret, ownStates } from "../harness/state";
import { type Fixture, fixtures, restore, spelling } from "./fixture";

interface Restored {
  readonly stack: Stack;
  readonly emulator: Emulator;
  readonly folder: ProgramFolder;
}

async function withFixture(
  engine: Engine,
  fixture: Fixture,
  body: (restored: Restored) => Promise<void>,
): Promise<void> {
  const now = fixture.now;
  const emulator = await startEmulator({ behaviour: { operationMs: 0, spelling }, now: () => now });
  const folder = programFolder(`const FLAVOR = "small";${fixture.program}`, { name: "scenario" });
  const config = { "cloudinfra:endpoint": emulator.endpoint, "cloudinfra:token": { secret: emulator.token } };
  const stack = await engine.open({ dir: folder.dir, project: "scenario", stack: "dev", config });
  try {
    await stack.import(restore(emulator, fixture));
    await body({ stack, emulator, folder });
  } finally {
    await stack.dispose();
    folder.remove();
    await emulator.stop();
  }
}

describeOnEngines("a state from an older version", (engine) => {
  it.each(fixtures())(
    "causes no diff, and an up applies changes of the program: %s",
    async (_name, fixture) => {
      await withFixture(engine, fixture, async ({ stack, emulator, folder }) => {
        const preview = expectOk(await noRequestsDuring(emulator, () => stack.run("preview")));
        expect(changesOf(preview), preview.output).toEqual({});
        const refresh = expectOk(await stack.run("refresh"));
        expect(changesOf(refresh), refresh.output).toEqual({});
        for (const id of emulator.instances.keys()) emulator.touch(id); // a new revision, so that only the values can show that nothing changed
        expectOk(await stack.run("refresh"));
        await expectConverged({ stack, emulator });
        const remoteValues = ownStates(await stack.deployment()).map(({ outputs }) => outputs?.__words);
        expect(remoteValues.filter((values) => values !== undefined && !isSecret(values))).toEqual([]);

        folder.write(`const FLAVOR = "large";${fixture.program}`);
        const changed = expectOk(await stack.run("up"));
        expect(changesOf(changed), changed.output).toEqual({ update: 2 });
        expect(changed.output).not.toMatch(/__\w/);
        expect([...emulator.instances.values()].map(({ fields }) => fields.flavor)).toEqual([
          "large",
          "large",
        ]);
        expect(ownStates(await stack.deployment())).toHaveLength(3);
        expectOk(await stack.run("destroy"));
        expect(emulator.instances.size + emulator.projects.size).toBe(0);
      });
    },
  );
});
