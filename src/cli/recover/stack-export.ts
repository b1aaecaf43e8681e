import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { CloudInfraError } from "../../diagnostics/error";
import type { RecoverArgs } from "./args";

/** Pulumi may have to ask a backend far away; it has no reason to take longer than this. */
const EXPORT_TIMEOUT_MS = 5 * 60_000;

/**
 * The text of the stack's export, with its secrets in clear: from Pulumi, a file or standard input.
 *
 * @throws CloudInfraError in words for what Pulumi lacks; never with a part of the export
 */
export function stackExport({ cwd, stack, file }: RecoverArgs): Promise<string> {
  if (file === "-") return text(process.stdin);
  return file === undefined ? fromPulumi(cwd, stack) : fromFile(path.resolve(cwd, file));
}

async function fromFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CloudInfraError("input_invalid", `the stack's export can't be read: ${why}`, { cause });
  }
}

async function fromPulumi(cwd: string, stack: string | undefined): Promise<string> {
  const args = ["stack", "export", "--show-secrets", "--non-interactive", "--color", "never"];
  const child = spawn("pulumi", stack === undefined ? args : [...args, "--stack", stack], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // Not the option `timeout`: where there is no pulumi, its timer would keep this process alive.
    signal: AbortSignal.timeout(EXPORT_TIMEOUT_MS),
    killSignal: "SIGKILL",
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  try {
    const [said, complaints, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (end === 0) return said;
    throw failed(complaints.trim(), end);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") throw pulumiMissing(error);
    if (code === "ABORT_ERR") throw tookTooLong(error);
    throw error;
  }
}

function pulumiMissing(cause: unknown): CloudInfraError {
  return new CloudInfraError("config_missing", "there is no `pulumi` on the PATH to ask for the stack", {
    hint: "install Pulumi's CLI, or give the export of another machine with --file",
    cause,
  });
}

/** What Pulumi says when it can't export, and what to do about it. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/no stack selected/i, "name one with --stack, or select it: pulumi stack select"],
  [/no stack named/i, "`pulumi stack ls` lists those there are"],
  [/incorrect passphrase/i, "the variable PULUMI_CONFIG_PASSPHRASE has another stack's passphrase"],
  [
    /passphrase/i,
    "set the variable PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE, as for `pulumi up`",
  ],
  [/log ?in|PULUMI_ACCESS_TOKEN/i, "give Pulumi access to its backend as for `pulumi up`: pulumi login"],
];

function failed(complaints: string, end: number | NodeJS.Signals | null): CloudInfraError {
  const words = complaints.replace(/^error: /, "") || `it ended with ${end}`;
  return new CloudInfraError("config_invalid", `\`pulumi stack export\` failed: ${words}`, {
    hint: HINTS.find(([pattern]) => pattern.test(complaints))?.[1],
  });
}

function tookTooLong(cause: unknown): CloudInfraError {
  const minutes = EXPORT_TIMEOUT_MS / 60_000;
  return new CloudInfraError("timeout", `\`pulumi stack export\` was not done after ${minutes} minutes`, {
    hint: "look whether its backend can be reached",
    cause,
  });
}
