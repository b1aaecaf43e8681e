import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator";
import { type Entry, parseEntry } from "../../src/journal/entry";
import { expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import type { EngineEvent, RunOptions, RunResult, Stack } from "../harness/engine";
import { programFolder } from "../harness/program";
import { withStack } from "../harness/scenario";
import { ownStates, stateOf } from "../harness/state";

const program = (count: number): string => `
  const project = new Project("p", { region: "eu-1" });
  for (let i = 0; i < ${count}; i++)
    new Instance("web" + i, { project: project.id, image: "u", flavor: "s", network: "n" });
`;

/** Operations that don't finish by themselves, so that a test can read the files during a creation. */
const held = { operationMs: 600_000, retryAfter: 1 };

/** The files of a journal, without the facts that the processes of one command share. */
const filesIn = (journal: string): string[] =>
  readdirSync(journal).filter((name) => !name.endsWith(".facts"));

/** The entries of creations that haven't finished. */
const entriesIn = (journal: string): Entry[] =>
  filesIn(journal)
    .flatMap((name) => parseEntry(readFileSync(path.join(journal, name), "utf8")) ?? [])
    .filter(({ id }) => id === undefined);

/** Runs `up`, calls `inspect` during the creation of an instance, and then finishes all operations. */
async function upWithInspection(
  { stack, emulator }: { stack: Stack; emulator: Emulator },
  inspect: () => void,
  options: RunOptions = {},
): Promise<RunResult> {
  let inspection: Promise<void> | undefined;
  const onEvent = (event: EngineEvent): void => {
    if (event.kind !== "diagnostic" || !event.message.startsWith("creating")) return;
    inspection ??= Promise.resolve()
      .then(inspect)
      .finally(() => emulator.finishOperations());
  };
  const result = await stack.run("up", { ...options, onEvent });
  if (inspection === undefined) throw new Error(`no instance was being created: ${result.output}`);
  await inspection;
  return result;
}

const journalWarnings = ({ diagnostics }: RunResult) =>
  diagnostics.filter(({ message }) => message.includes("journal entry"));

describeOnEngines("the journal entry of a creation", (engine) => {
  it("is on disk during the creation, readable only by its owner and without the token", async () => {
    await withStack(engine, { program: program(1), behaviour: held }, async (scenario) => {
      const { stack, emulator, dir } = scenario;
      const journal = path.join(dir, "journal");
      let seen: Entry[] = [];
      const result = await upWithInspection(scenario, () => {
        seen = entriesIn(journal);
        const files = filesIn(journal).map((name) => path.join(journal, name));
        expect(new Set(files.map((file) => statSync(file).mode & 0o777))).toEqual(new Set([0o600]));
        expect(statSync(journal).mode & 0o777).toBe(0o700);
        for (const file of files) expect(readFileSync(file, "utf8")).not.toContain(emulator.token);
      });
      expectOk(result);
      const post = emulator.requests.findLast(({ method }) => method === "POST");
      const [operation] = [...emulator.operations.keys()];
      const deployment = await stack.deployment();
      expect(seen).toEqual([
        {
          urn: stateOf(deployment, "web0").urn,
          endpoint: emulator.endpoint,
          backend: stack.backendUrl,
          key: post?.headers["idempotency-key"],
          resource: post?.headers["idempotency-key"],
          projectKey: stateOf(deployment, "p").inputs?.__key,
          body: post?.body,
          isAutonamed: true,
          at: expect.any(Number),
          operation: { id: operation, url: expect.stringContaining(`/operations/${operation}`) },
        },
      ]);
      expect(filesIn(journal)).toEqual([]);
    });
  });

  it("is removed for each of many resources that are saved concurrently", async () => {
    await withStack(engine, { program: program(40) }, async ({ stack, dir }) => {
      expectOk(await stack.run("up", { parallel: 40 }));
      expect(ownStates(await stack.deployment())).toHaveLength(41);
      expect(filesIn(path.join(dir, "journal"))).toEqual([]);
    });
  });

  it("is not written by a preview", async () => {
    await withStack(engine, { program: program(1) }, async ({ stack, dir }) => {
      expectOk(await stack.run("preview"));
      expect(existsSync(path.join(dir, "journal"))).toBe(false);
    });
  });

  it("is set aside with one warning if it is damaged, and the resource is created", async () => {
    await withStack(engine, { program: program(1), behaviour: held }, async (scenario) => {
      const { stack, emulator, dir } = scenario;
      const folder = path.join(dir, "journal");
      let names: string[] = [];
      expectOk(
        await upWithInspection(scenario, () => {
          names = filesIn(folder);
        }),
      );
      expectOk(await stack.run("destroy"));
      writeFileSync(path.join(folder, names[0] ?? ""), "{");
      emulator.behaviour.operationMs = 100;
      const result = expectOk(await stack.run("up"));
      const file = path.join(folder, `${names[0]}.damaged`);
      expect(journalWarnings(result)).toMatchObject([
        { severity: "warning", message: expect.stringContaining(`set aside as ${file}`) },
      ]);
      expect(readFileSync(file, "utf8")).toBe("{");
      expect(emulator.instances.size).toBe(1);
    });
  });

  it("doesn't affect a program that uses `pulumi.recover` after a failed creation", async () => {
    const recovering = `${program(0)}
      const web = new Instance("web", { project: project.id, image: "u", flavor: "s", network: "n" });
      for (const output of Object.values(web).filter(pulumi.Output.isInstance)) pulumi.recover(output, () => "none");
      exports.id = pulumi.recover(web.id, () => "none");
    `;
    await withStack(engine, { program: recovering }, async ({ stack, emulator }) => {
      emulator.failNextOperation({ kind: "create" });
      const result = await stack.run("up", { continueOnError: true });
      expect(result.output).toContain('creating instance "web" failed');
      expect(result.output).not.toContain("failed to register");
      expect(result.outputs).toEqual({ id: "none" });
    });
  });
});

/** Layouts of a program: the folder that the engine gets, and the working directory of program and provider. */
const layouts: Record<string, (dir: string) => { given: string; cwd: string }> = {
  "main: src/index.ts": (dir) => {
    const src = path.join(dir, "src");
    mkdirSync(src);
    renameSync(path.join(dir, "index.js"), path.join(src, "index.ts"));
    writeFileSync(path.join(dir, "Pulumi.yaml"), "name: scenario\nruntime: nodejs\nmain: src/index.ts\n");
    return { given: dir, cwd: src };
  },
  "a symbolic link to the folder": (dir) => {
    const given = `${dir}-link`;
    symlinkSync(dir, given, "dir");
    return { given, cwd: dir };
  },
  "a package of an npm workspace": (dir) => {
    const cwd = path.join(dir, "packages/app");
    mkdirSync(cwd, { recursive: true });
    for (const file of ["index.js", "package.json", "Pulumi.yaml"])
      renameSync(path.join(dir, file), path.join(cwd, file));
    writeFileSync(
      path.join(dir, "package.json"),
      JSON.stringify({ private: true, workspaces: ["packages/*"] }),
    );
    return { given: cwd, cwd };
  },
};

describeOnEngines("a relative journalDir is the same folder for program and provider", (engine) => {
  it.each(Object.entries(layouts))("with %s", async (_how, lay) => {
    const folder = programFolder(program(1));
    onTestFinished(() => folder.remove());
    const { given, cwd } = lay(folder.dir);
    const emulator = await startEmulator({ behaviour: held });
    onTestFinished(() => emulator.stop());
    const stack = await engine.open({
      dir: given,
      project: "scenario",
      stack: "dev",
      config: {
        "cloudinfra:endpoint": emulator.endpoint,
        "cloudinfra:token": { secret: emulator.token },
        "cloudinfra:journalDir": "notes",
      },
      env: { PULUMI_NODEJS_TRANSPILE_ONLY: "true" }, // Type checks take seconds and don't matter here.
    });
    onTestFinished(() => stack.dispose());
    const notes = path.join(cwd, "notes");
    let seen: Entry[] = [];
    const result = await upWithInspection({ stack, emulator }, () => {
      seen = entriesIn(notes);
    });
    expectOk(result);
    expect(seen).toMatchObject([{ backend: stack.backendUrl }]);
    expect(filesIn(notes)).toEqual([]);
  });
});
