import { type ExecFileException, execFile } from "node:child_process";
import { accessSync, existsSync, realpathSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import * as v from "valibot";
import type { Configuration } from "../config/settings";
import { CloudInfraError, codeOf } from "../diagnostics/error";
import { quoteForShell } from "../diagnostics/format";
import { json } from "../diagnostics/problem";
import { projectFileFor, readProjectFile } from "../journal/location";

export interface Target {
  /** The name of the stack. @default the selected stack */
  readonly stack?: string;
  /** The working directory. Relative paths are resolved from this folder. */
  readonly cwd: string;
}

/** Formats a command that the user can run in a shell, with the same stack and folder. */
export function commandLineFor(words: readonly string[], { stack, cwd }: Target): string {
  const folder = cwd === "." ? [] : ["--cwd", cwd];
  return [...words, ...stackOption(stack), ...folder].map(quoteForShell).join(" ");
}

function stackOption(stack: string | undefined): string[] {
  return stack === undefined ? [] : ["--stack", stack];
}

const TIMEOUT_MS = 5 * 60_000;

/**
 * Runs the Pulumi CLI without prompts, and returns its output with decrypted secrets.
 *
 * @param command the first arguments, such as `["stack", "export"]`, which error messages contain
 * @throws CloudInfraError `config_missing`, `config_invalid`, `timeout`: with Pulumi's error message, but not its output, which may be secret
 */
export function pulumiOutput(
  { cwd, stack }: Target,
  command: readonly string[],
  ...more: readonly string[]
): Promise<string> {
  const common = ["--non-interactive", "--color", "never"];
  const limits = { timeout: TIMEOUT_MS, killSignal: "SIGKILL", maxBuffer: Number.POSITIVE_INFINITY } as const;
  return new Promise((resolve, reject) => {
    const args = [...command, ...common, ...more, "--show-secrets", ...stackOption(stack)];
    const child = execFile("pulumi", args, { cwd, ...limits }, (error, output, errors) => {
      if (error === null) resolve(output);
      else reject(failureOf(`\`pulumi ${command.join(" ")}\``, error, errors));
    });
    child.stdin?.end();
  });
}

const FOLDER_HINT = "Run the command in the folder of your Pulumi program, or specify the folder with --cwd.";

/** Hints for error messages of the Pulumi CLI. The first match applies. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/no stack selected/i, "Specify the stack with --stack, or select it with `pulumi stack select`."],
  [/no stack named/i, "Run `pulumi stack ls` to list your stacks."],
  [/no Pulumi\.yaml/i, FOLDER_HINT],
  [/incorrect passphrase/i, "Set PULUMI_CONFIG_PASSPHRASE to the passphrase of this stack."],
  [/passphrase/i, "Set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE, as for `pulumi up`."],
  [/log ?in|PULUMI_ACCESS_TOKEN/i, "Log in to the backend of your stack with `pulumi login`."],
];

function failureOf(name: string, error: ExecFileException, errors: string): CloudInfraError {
  const { code, signal, killed } = error;
  if (code === "ENOENT")
    return new CloudInfraError("config_missing", "`pulumi` was not found on the PATH", {
      hint: "Install the Pulumi CLI, or add its folder to the PATH.",
    });
  if (killed)
    return new CloudInfraError("timeout", `${name} timed out after ${TIMEOUT_MS / 60_000} min`, {
      hint: "Check the connection to the backend of your stack, then run the command again.",
    });
  if (typeof code === "string")
    return new CloudInfraError("config_invalid", `${name} can't be run: ${error.message}`, {
      hint: "Check the `pulumi` on your PATH.",
    });
  const message = stripVTControlCharacters(errors)
    .trim()
    .replace(/^error: /, "");
  const ending = signal ? `it was killed by ${signal}` : `it exited with code ${code}`;
  return new CloudInfraError("config_invalid", `${name} failed: ${message || ending}`, {
    hint: HINTS.find(([pattern]) => pattern.test(message))?.[1] ?? `Run ${name} to see the error.`,
  });
}

const schema = v.record(v.string(), v.object({ value: v.optional(v.string()) }));

/** Reads the stack's configuration, with decrypted secrets. Errors contain no values of the configuration. */
export async function stackSettings(target: Target): Promise<Configuration> {
  const output = await pulumiOutput(target, ["config"], "--json");
  const parsed = v.safeParse(json(schema), output);
  if (!parsed.success) {
    const message = "the output of `pulumi config --json` is not a configuration";
    throw new CloudInfraError("config_invalid", message, { hint: "Check the `pulumi` on your PATH." });
  }
  return (key) => trimmed(parsed.output[key]?.value);
}

export function trimmed(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

/** Finds the working directory of the program and the provider: the folder of the project file in or above `cwd`, or that of its `main`. */
export function programFolder(cwd: string): string {
  const start = path.resolve(cwd);
  if (!statSync(start, { throwIfNoEntry: false })?.isDirectory())
    throw new CloudInfraError("config_missing", `the folder ${start} doesn't exist`, { hint: FOLDER_HINT });
  const file = projectFileFor(start);
  if (file === undefined)
    throw new CloudInfraError("config_missing", `no Pulumi.yaml found in ${start} or its parent folders`, {
      hint: FOLDER_HINT,
    });
  const main = path.resolve(path.dirname(file), readProjectFile(file).main ?? ".");
  if (!existsSync(main))
    throw new CloudInfraError("config_invalid", `\`main\` in ${file} is a path that doesn't exist: ${main}`, {
      hint: "Correct `main`, or run the command in a complete copy of the program.",
    });
  return realpathSync(statSync(main).isDirectory() ? main : path.dirname(main));
}

/**
 * Checks that a file can be written, before a command takes the time to determine the content.
 *
 * @param options.force whether to overwrite an existing file
 * @param options.option the options that set the file's path, for error messages
 * @throws CloudInfraError `input_invalid` if the file exists and may not be overwritten, or if its folder doesn't exist
 */
export function outputFile(
  file: string,
  { cwd, force, option }: { readonly cwd: string; readonly force?: boolean; readonly option: string },
) {
  const absolute = path.resolve(cwd, file);
  const failure = (cause?: unknown): CloudInfraError => {
    const isThere = cause === undefined || codeOf(cause) === "EEXIST";
    const choice = `Choose another path with ${option}`;
    return isThere
      ? new CloudInfraError("input_invalid", `${absolute} already exists`, {
          hint: `${choice}, or overwrite the file with --force.`,
        })
      : new CloudInfraError("input_invalid", `can't write ${absolute}`, { hint: `${choice}.`, cause });
  };
  if (!force && existsSync(absolute)) throw failure();
  try {
    accessSync(path.dirname(absolute));
  } catch (cause) {
    throw failure(cause);
  }
  return {
    path: absolute,
    /** @throws CloudInfraError `input_invalid` if the file can't be written */
    write: (text: string) =>
      writeFile(absolute, text, { flag: force ? "w" : "wx" }).catch((cause: unknown) => {
        throw failure(cause);
      }),
  };
}
