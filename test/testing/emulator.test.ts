import { readdirSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { type FaultName, withEmulator } from "../../src/testing";
import { programFolder } from "../harness/program";
import { pulumiOnPath } from "../harness/pulumi-environment";
import { quoted, readMarkdown, tableRows } from "../readme/markdown";

const described = tableRows(readMarkdown("docs/testing.md"))
  .map(([name = ""]) => quoted(name).join())
  .filter((name) => /^[a-z-]+$/.test(name)) as FaultName[];

it.runIf(pulumiOnPath())(
  "withEmulator runs a program's stack, with each fault that the page names",
  async () => {
    const source = 'const p = new Project("p", { region: "r" }); exports.id = p.id;';
    const { dir, remove, write } = programFolder(source);
    onTestFinished(remove);
    const before = readdirSync(dir);
    const instance = (flavor: string) =>
      `${source} new Instance("i", { project: p.id, image: "i", flavor: "${flavor}", network: "n" });`;
    const ids = await withEmulator(
      { program: dir, config: { a: "b" } },
      async ({ stack, emulator, fault }) => {
        const { outputs } = await stack.up();
        expect(outputs.id?.value).toBe([...emulator.projects.keys()][0]);
        expect(described.length).toBe(5);
        for (const name of described) {
          write(instance(name)); // a change for each
          const handle = fault(name);
          const up = stack.up({ color: "never" });
          if (name === "concurrent-change") await expect(up).rejects.toThrow("revision_conflict");
          else await up;
          if (name === "concurrent-change") await stack.refresh();
          expect(handle.used, name).toBeGreaterThan(0);
        }
        return [...emulator.instances.keys()];
      },
    );
    expect(ids).toHaveLength(1);
    expect(readdirSync(dir)).toEqual(before);
  },
);
