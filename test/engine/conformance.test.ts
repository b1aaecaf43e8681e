import fs from "node:fs";
import path from "node:path";
import { describe, test } from "vitest";
import { compared } from "./fixtures/comparison";
import { ProgramFolder } from "./fixtures/program";
import { parseCommand, type RecordedStep, type Recordings } from "./fixtures/recordings";
import { FakeStack } from "./stack";

/** See README.md for what is not reproduced, and why. */
const races = new Set(["check fails"]);

/** They take minutes: a third of the first and a sixth of the further ones, and all with `CLOUDINFRA_TEST_RECORDINGS=all`. */
const isAll = process.env.CLOUDINFRA_TEST_RECORDINGS === "all";

describe.concurrent.each([
  { file: "recordings.json", each: isAll ? 1 : 3 },
  { file: "recordings-more.json", each: isAll ? 1 : 6 },
])("like the real engine in $file, one in $each", ({ file, each }) => {
  const recordings: Recordings = JSON.parse(fs.readFileSync(path.join(__dirname, file), "utf8"));
  const played = recordings.scenarios.filter(({ name }, index) => index % each === 0 && !races.has(name));
  for (const { name, steps } of played) {
    test(name, async ({ expect }) => {
      const program = new ProgramFolder("recorded");
      const stack = new FakeStack({ dir: program.dir, project: "rec", stack: "dev" });
      try {
        const seen = [];
        for (const step of steps) seen.push(await rerun(step, program, stack));
        expect(compared(seen, program.dir)).toEqual(compared(steps, "ROOT/program"));
      } finally {
        await stack.dispose();
        program.remove();
      }
    });
  }
});

async function rerun(step: RecordedStep, program: ProgramFolder, stack: FakeStack): Promise<RecordedStep> {
  if (step.program) program.writeJson("spec.json", step.program);
  program.writeJson("behave.json", step.behave ?? {});
  const { command, options } = parseCommand(step.run);
  const { ok, output } = await stack.run(command, options);
  const { resources = [], pending_operations: operations = [] } = await stack.deployment();
  const pendingOperations = operations.map(({ type, resource }) => ({ type, urn: resource.urn }));
  return {
    ...step,
    ok,
    calls: program.takeCalls(),
    resources,
    pendingOperations,
    output: output.split("\n"),
  };
}
