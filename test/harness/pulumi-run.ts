import { execFile } from "node:child_process";
import { promisify, stripVTControlCharacters } from "node:util";
import * as automation from "@pulumi/pulumi/automation";
import type { Command, RunOptions, RunResult, StackOptions } from "./engine";
import { pulumiOnPath } from "./pulumi-environment";
import { collectEvents, hidesSecret } from "./pulumi-events";

/** Runs one command of the CLI. If the command fails, the result says so, and no error is thrown. */
export async function runCommand(
  stack: automation.Stack,
  command: Command,
  options: RunOptions,
  { disposing, overhear = () => {} }: { disposing: AbortSignal; overhear?: StackOptions["overhear"] },
): Promise<RunResult> {
  const signal = options.signal ? AbortSignal.any([options.signal, disposing]) : disposing;
  signal.throwIfAborted();
  const { collected, take } = collectEvents(options.onEvent);
  let output = "";
  const said = (text: string): void => {
    output += text;
  };
  const failure = await start(stack, command, options, {
    color: "never",
    suppressProgress: true,
    onOutput: said,
    onError: said,
    onEvent: (event) => {
      overhear("an event of the engine", JSON.stringify(event));
      take(event);
    },
    signal,
  }).then(() => undefined, commandError);
  if (collected.failure !== undefined) throw collected.failure;
  const { steps, diagnostics, changes } = collected;
  const outputs =
    command !== "preview" && hidesSecret(collected.outputs)
      ? await outputsInPlaintext(stack)
      : collected.outputs;
  output = stripVTControlCharacters(output) || (failure?.message ?? "");
  return { ok: failure === undefined, output, steps, changes, diagnostics, outputs };
}

const execute = promisify(execFile);

/** Runs a command of the CLI that the SDK doesn't offer. @throws Error with the CLI's output if the command fails */
export async function runCli(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const whole = [...args, "--non-interactive", "--color", "never"];
  await execute(pulumiOnPath() ?? "pulumi", whole, { cwd, env: { ...process.env, ...env } });
}

function commandError(error: unknown): automation.CommandError {
  if (error instanceof automation.CommandError) return error;
  throw error;
}

type Reporting = Pick<
  automation.UpOptions,
  "color" | "suppressProgress" | "onOutput" | "onError" | "onEvent" | "signal"
>;

function start(
  stack: automation.Stack,
  command: Command,
  options: RunOptions,
  reporting: Reporting,
): Promise<unknown> {
  const { parallel, targetDependents, refresh, runProgram, continueOnError, previewOnly, excludeProtected } =
    options;
  const target = [...(options.target ?? []), ...(options.targetReplace ?? [])];
  const replace = [...(options.replace ?? []), ...(options.targetReplace ?? [])];
  const common = {
    ...reporting,
    target,
    ...(targetDependents !== undefined && { targetDependents }),
    ...(parallel !== undefined && { parallel }),
    ...(runProgram !== undefined && { runProgram }),
  };
  const withRefresh = { ...common, ...(refresh !== undefined && { refresh }) };
  const persistent = continueOnError !== undefined && { continueOnError };
  const onlyPreview = previewOnly !== undefined && { previewOnly };
  switch (command) {
    case "preview":
      return stack.preview({ ...withRefresh, replace });
    case "up":
      return stack.up({ ...withRefresh, ...persistent, replace });
    case "refresh":
      return stack.refresh({ ...common, ...onlyPreview });
    case "destroy":
      return stack.destroy({
        ...withRefresh,
        ...persistent,
        ...onlyPreview,
        ...(excludeProtected !== undefined && { excludeProtected }),
      });
  }
}

/** The stack's outputs with secrets in plaintext. Events hide them, so they come from the state. */
async function outputsInPlaintext(stack: automation.Stack): Promise<Record<string, unknown>> {
  const outputs = await stack.workspace.stackOutputs(stack.name);
  return Object.fromEntries(Object.entries(outputs).map(([key, output]) => [key, output.value]));
}
