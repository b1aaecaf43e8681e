import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { REPOSITORY } from "../harness/modules";

// The command `tsx` would start another process, which could outlive a killed one.
const TSX = pathToFileURL(path.join(REPOSITORY, "node_modules/tsx/dist/loader.mjs")).href;

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `pulumi-cloudinfra` from its source in a folder, with exactly this environment. */
export async function runCli(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin = "",
): Promise<Ended> {
  const child = spawn(
    process.execPath,
    ["--import", TSX, path.join(REPOSITORY, "src/cli/main.ts"), ...args],
    {
      cwd,
      env,
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, stdout, stderr };
}
