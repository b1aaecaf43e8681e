import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { Engine } from "../harness/engine";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { withStack } from "../harness/scenario";
import { inClear, stateOf } from "../harness/state";
import { spellings } from "./spellings";

const names = Object.keys(spellings);
const nameOf = (at: number): string => `Way-${at}`;

/** A project with an instance for each way of normalization. */
const program = (flavor: string): string => `
  const project = new Project("p", { region: "eu-1" });
  for (let at = 0; at < ${names.length}; at++) new Instance("way" + at, {
    project: project.id, name: "Way-" + at, image: "ubuntu", flavor: "${flavor}", network: "default", publicIp: "auto",
    sshKeys: ["ssh-ed25519 AAAAone a", "ssh-ed25519 AAAAtwo b"], labels: { team: "web", size: "3" },
  });
`;

function spelling(instance: Readonly<Record<string, unknown>>, place: "item" | "object"): object {
  const at = Number(String(instance.name).slice(nameOf(0).length - 1));
  return spellings[names[at] ?? ""]?.(instance, place) ?? instance;
}

describeLongOnEngines(`a service that normalizes values in ${names.length} ways`, (engine) => {
  it.each(statusesFor(engine.name))(
    "causes no false diff and hides no drift if a GET of an object returns %i",
    async (getObject) => {
      await withStack(
        engine,
        { program: program("small"), behaviour: { spelling, getObject } },
        async (scenario) => {
          const { stack, emulator, write } = scenario;
          const expectNoDiff = async (words: string): Promise<void> => {
            const told = expectOk(await stack.run("refresh"));
            expect(differing(told.steps), `a refresh ${words}\n${told.output}`).toEqual([]);
            const preview = expectOk(await stack.run("preview"));
            expect(differing(preview.steps), `a preview ${words}\n${preview.output}`).toEqual([]);
          };
          expectOk(await stack.run("up"));
          await expectNoDiff("after creation");
          const { urn } = stateOf(await stack.deployment(), "way4");
          const alone = expectOk(await stack.run("refresh", { target: [urn] })); // reads one object instead of the list
          expect(differing(alone.steps), alone.output).toEqual([]);

          write(program("large"));
          expect(changesOf(expectOk(await stack.run("up")))).toEqual({ update: names.length });
          await expectNoDiff("after an update");

          for (const { id } of emulator.instances.values()) emulator.edit(id, { flavor: "theirs" });
          expectOk(await stack.run("refresh"));
          const state = await stack.deployment();
          const unseen = names.filter(
            (_, at) => !/theirs/i.test(JSON.stringify(inClear(stateOf(state, `way${at}`).inputs))),
          );
          // Drift of fields that no reply contains can't be detected.
          expect(unseen).toEqual(getObject === 200 ? [] : ["lists with few fields"]);
          expectOk(await stack.run("up"));
          const left = [...emulator.instances.values()].filter(({ fields }) => fields.flavor === "theirs");
          expect(left).toHaveLength(unseen.length);
          await expectConverged(scenario);
        },
      );
    },
  );
});

/** The statuses of a GET of one object. Each engine tests one of them, and the fake engine tests both if it is the only one. */
function statusesFor(engine: Engine["name"]): (200 | 404)[] {
  if (engine === "pulumi") return [200];
  return pulumiOnPath() === undefined ? [200, 404] : [404];
}

function differing(steps: readonly { op: string; name: string; diffs?: readonly string[] }[]): unknown[] {
  return steps
    .filter(({ op }) => !["same", "refresh", "read"].includes(op))
    .map(({ op, name, diffs }) => [op, names[Number(name.slice("way".length))] ?? name, diffs]);
}
