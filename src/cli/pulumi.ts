import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { CloudInfraError } from "../diagnostics/error";

/** Pulumi may have to ask a backend far away; it has no reason to take longer than this. */
const TIMEOUT_MS = 5 * 60_000;

/**
 * What a command of Pulumi's CLI prints; nothing is asked of the person who runs it.
 *
 * @param command its words, as `["stack", "export"]`: they name it in errors; `more` may hold what is not worth telling
 * @throws CloudInfraError in words for what Pulumi lacks; never with a part of what it printed
 */
export async function pulumiOutput(
  cwd: string,
  command: readonly string[],
  more: readonly string[] = [],
): Promise<string> {
  const child = spawn("pulumi", [...command, "--non-interactive", "--color", "never", ...more], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // Not the option `timeout`: where there is no pulumi, its timer would keep this process alive.
    signal: AbortSignal.timeout(TIMEOUT_MS),
    killSignal: "SIGKILL",
  });
  const name = `\`pulumi ${command.join(" ")}\``;
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  try {
    const [said, complaints, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (end === 0) return said;
    throw failed(name, complaints.trim(), end);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") throw pulumiMissing(error);
    if (code === "ABORT_ERR") throw tookTooLong(name, error);
    throw error;
  }
}

function pulumiMissing(cause: unknown): CloudInfraError {
  return new CloudInfraError("config_missing", "there is no `pulumi` on the PATH to ask for the stack", {
    hint: "install Pulumi's CLI, or run this where it is",
    cause,
  });
}

/** What Pulumi says when it can't answer, and what to do about it. */
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

function failed(name: string, complaints: string, end: number | NodeJS.Signals | null): CloudInfraError {
  const words = complaints.replace(/^error: /, "") || `it ended with ${end}`;
  return new CloudInfraError("config_invalid", `${name} failed: ${words}`, {
    hint: HINTS.find(([pattern]) => pattern.test(complaints))?.[1],
  });
}

function tookTooLong(name: string, cause: unknown): CloudInfraError {
  return new CloudInfraError("timeout", `${name} was not done after ${TIMEOUT_MS / 60_000} minutes`, {
    hint: "look whether its backend can be reached",
    cause,
  });
}
