import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { programOf } from "./cut-off";

/**
 * Lets every call of these about the journal's folder fail so, in each process that loads the module first: modes don't bind a
 * superuser, and few may mount a disk of their own.
 */
const failing = (dir: string, calls: readonly string[], code: string, words: string): string => {
  const module = path.join(dir, "disk.cjs");
  writeFileSync(
    module,
    `const fs = require("node:fs/promises");
    for (const call of ${JSON.stringify(calls)}) {
      const real = fs[call];
      fs[call] = async (file, ...more) => {
        if (!String(file).startsWith(${JSON.stringify(path.join(dir, "journal"))})) return real(file, ...more);
        throw Object.assign(new Error("${code}: ${words}, " + call + " '" + file + "'"), { code: "${code}" });
      };
    }`,
  );
  return `--require ${module}`;
};

/** What is wrong with the journal's place: words that tell of it, and how it comes to be so in a folder. */
const places: Record<string, readonly [words: string, (dir: string) => string | undefined]> = {
  "is a file": [
    "ENOTDIR: not a directory",
    (dir) => void writeFileSync(path.join(dir, "journal"), "somebody's own"),
  ],
  "is read-only": [
    "EROFS: read-only file system",
    (dir) => failing(dir, ["mkdir", "open"], "EROFS", "read-only file system"),
  ],
  "is full": [
    "ENOSPC: no space left on device",
    (dir) => failing(dir, ["open"], "ENOSPC", "no space left on device"),
  ],
};

describeLongOnEngines("a journal whose place", (engine) => {
  it.each(Object.entries(places))(
    "%s is missed with one warning, and the instances are made all the same",
    async (_how, [words, spoil]) => {
      const program = programOf({ one: [], two: [], three: [] });
      await withStack(engine, { program }, async ({ stack, emulator, dir }) => {
        const preload = spoil(dir);
        const result = expectOk(await stack.run("up", { env: preload ? { NODE_OPTIONS: preload } : {} }));
        const [warning, ...others] = result.diagnostics.filter(({ message }) =>
          message.includes("the journal of creations"),
        );
        expect(others).toEqual([]);
        expect(warning?.severity).toBe("warning");
        expect(warning?.message).toContain(`in ${dir}/journal can't be used (${words})`);
        expect(warning?.message).toMatch(
          /Creations proceed without it.*may create its object a second time.*recover` before the next `pulumi up`/,
        );
        expect(
          result.output.split(`in ${dir}/journal can't be used`),
          "as it comes, and at the end",
        ).toHaveLength(3);
        expect(emulator.instances.size).toBe(3);
      });
    },
  );
});
