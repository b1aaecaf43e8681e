import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { killMarked } from "../../demo/leftovers";

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Starts a process that doesn't end by itself, and waits until it runs. */
async function endless(environment: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  children.push(child);
  if (child.stdout) await once(child.stdout, "data");
  return child;
}

it("kills only processes whose environment contains the mark", async () => {
  const mark = `mark-${process.pid}-${Date.now()}`;
  const marked = await endless({ TMPDIR: `/tmp/${mark}/children` });
  const other = await endless({});
  const end = once(marked, "exit");
  await killMarked(`/tmp/${mark}/children`);
  expect(await end).toEqual([null, "SIGKILL"]);
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
});
