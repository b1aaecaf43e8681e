import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { REPOSITORY } from "../harness/modules";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `pulumi-cloudinfra` as built, in a folder, with exactly this environment. */
export async function runCli(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin = "",
): Promise<Ended> {
  const child = spawn(process.execPath, [path.join(REPOSITORY, "dist/cli/main.js"), ...args], { cwd, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, stdout, stderr };
}
