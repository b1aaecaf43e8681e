import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { expectOk } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { programOf } from "./interruption";

/**
 * Writes a module that makes these calls fail in the journal's folder, and returns the Node option that loads it. File modes
 * would not stop a superuser, and mounting a file system requires privileges.
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

/** Problems of the journal's folder, each with the expected words in the warning and a function that causes it. */
const problems: Record<string, readonly [words: string, cause: (dir: string) => string | undefined]> = {
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

describeLongOnEngines("a journal whose folder", (engine) => {
  it.each(Object.entries(problems))(
    "%s causes one warning, and the instances are still created",
    async (_how, [words, cause]) => {
      const program = programOf({ one: [], two: [], three: [] });
      await withStack(engine, { program }, async ({ stack, emulator, dir }) => {
        const preload = cause(dir);
        const result = expectOk(await stack.run("up", { env: preload ? { NODE_OPTIONS: preload } : {} }));
        const [warning, ...others] = result.diagnostics.filter(({ message }) =>
          message.includes("the journal of creations"),
        );
        expect(others).toEqual([]);
        expect(warning?.severity).toBe("warning");
        expect(warning?.message).toContain(`in ${dir}/journal can't be used (${words})`);
        expect(warning?.message).toMatch(
          /Creations continue without a journal.*may create an object a second time.*recover` before the next `pulumi up`/,
        );
        expect(
          result.output.split(`in ${dir}/journal can't be used`),
          "when it occurs, and at the end",
        ).toHaveLength(3);
        expect(emulator.instances.size).toBe(3);
      });
    },
  );
});
