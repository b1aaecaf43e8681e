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

/** Nothing ends by itself: there is time to look at what is on disk meanwhile. */
const held = { operationMs: 600_000, retryAfter: 1 };

/** The files of a journal, without what the processes of a run tell each other. */
const filesIn = (journal: string): string[] =>
  readdirSync(journal).filter((name) => !name.endsWith(".facts"));

const entriesIn = (journal: string): Entry[] =>
  filesIn(journal).flatMap((name) => parseEntry(readFileSync(path.join(journal, name), "utf8")) ?? []);

/** Runs `up`; looks around once an instance is being created, and then lets the service finish what it has begun. */
async function upWithALook(
  { stack, emulator }: { stack: Stack; emulator: Emulator },
  look: () => void,
  options: RunOptions = {},
): Promise<RunResult> {
  let looked: Promise<void> | undefined;
  const onEvent = (event: EngineEvent): void => {
    if (event.kind !== "diagnostic" || !event.message.startsWith("creating")) return;
    looked ??= Promise.resolve()
      .then(look)
      .finally(() => emulator.finishOperations());
  };
  const result = await stack.run("up", { ...options, onEvent });
  if (looked === undefined) throw new Error(`no instance was being created: ${result.output}`);
  await looked;
  return result;
}

const aboutNotes = ({ diagnostics }: RunResult) =>
  diagnostics.filter(({ message }) => message.includes("journal entry"));

describeOnEngines("the entry of a creation", (engine) => {
  it("is on disk while the service works, for its owner only and without the token, and is gone after `up`", async () => {
    await withStack(engine, { program: program(1), behaviour: held }, async (scenario) => {
      const { stack, emulator, dir } = scenario;
      const journal = path.join(dir, "journal");
      let seen: Entry[] = [];
      const result = await upWithALook(scenario, () => {
        seen = entriesIn(journal);
        const files = filesIn(journal).map((name) => path.join(journal, name));
        expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
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

  it("goes for each of many resources that are saved at once", async () => {
    await withStack(engine, { program: program(40) }, async ({ stack, dir }) => {
      expectOk(await stack.run("up", { parallel: 40 }));
      expect(ownStates(await stack.deployment())).toHaveLength(41);
      expect(filesIn(path.join(dir, "journal"))).toEqual([]);
    });
  });

  it("is not made by a preview", async () => {
    await withStack(engine, { program: program(1) }, async ({ stack, dir }) => {
      expectOk(await stack.run("preview"));
      expect(existsSync(path.join(dir, "journal"))).toBe(false);
    });
  });

  it("that is damaged is set aside with one warning, and the resource is made", async () => {
    await withStack(engine, { program: program(1), behaviour: held }, async (scenario) => {
      const { stack, emulator, dir } = scenario;
      const folder = path.join(dir, "journal");
      let names: string[] = [];
      expectOk(
        await upWithALook(scenario, () => {
          names = filesIn(folder);
        }),
      );
      expectOk(await stack.run("destroy"));
      writeFileSync(path.join(folder, names[0] ?? ""), "{");
      emulator.behaviour.operationMs = 100;
      const result = expectOk(await stack.run("up"));
      const file = path.join(folder, `${names[0]}.damaged`);
      expect(aboutNotes(result)).toMatchObject([
        { severity: "warning", message: expect.stringContaining(`set aside as ${file}`) },
      ]);
      expect(readFileSync(file, "utf8")).toBe("{");
      expect(emulator.instances.size).toBe(1);
    });
  });

  it("makes no difference to a program that recovers from a creation that failed", async () => {
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

/** How a program may lie; what the engine is given as its folder, and what the program and the provider are run in. */
const layouts: Record<string, (dir: string) => { given: string; cwd: string }> = {
  "main: src/index.ts": (dir) => {
    const src = path.join(dir, "src");
    mkdirSync(src);
    renameSync(path.join(dir, "index.js"), path.join(src, "index.ts"));
    writeFileSync(path.join(dir, "Pulumi.yaml"), "name: scenario\nruntime: nodejs\nmain: src/index.ts\n");
    return { given: dir, cwd: src };
  },
  "a folder reached through a link, as by -C": (dir) => {
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

describeOnEngines("program and provider find the same journal with", (engine) => {
  it.each(Object.entries(layouts))(
    "%s, a relative journalDir counting from the program's folder",
    async (_how, lay) => {
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
        env: { PULUMI_NODEJS_TRANSPILE_ONLY: "true" }, // checking types takes seconds and is not what this is about
      });
      onTestFinished(() => stack.dispose());
      const notes = path.join(cwd, "notes");
      let seen: Entry[] = [];
      const result = await upWithALook({ stack, emulator }, () => {
        seen = entriesIn(notes);
      });
      expectOk(result);
      expect(seen).toMatchObject([{ backend: stack.backendUrl }]);
      expect(filesIn(notes)).toEqual([]);
    },
  );
});
