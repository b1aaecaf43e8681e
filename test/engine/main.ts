import path from "node:path";
import { parseArgs } from "node:util";
import type { Command, RunOptions } from "../harness/engine";
import { readProject } from "./processes/project";
import { FakeStack } from "./stack";

const usage = `usage: main.ts <preview|up|refresh|destroy> --stack NAME --state FILE [options]
  --dir FOLDER                the program's folder (default: the working directory)
  --config KEY=VALUE          sets a configuration value (repeatable); --secret KEY=VALUE sets a secret
  --target URN, --target-replace URN, --replace URN, --target-dependents
  --refresh, --run-program, --preview-only, --continue-on-error, --exclude-protected
  --parallel N, --show-secrets
The first Ctrl-C or SIGTERM lets running operations finish. The second one kills them.`;

const repeated = { type: "string", multiple: true } as const;
const flag = { type: "boolean" } as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: "string", default: "." },
    stack: { type: "string" },
    state: { type: "string" },
    config: repeated,
    secret: repeated,
    target: repeated,
    "target-replace": repeated,
    replace: repeated,
    "target-dependents": flag,
    refresh: flag,
    "run-program": flag,
    "preview-only": flag,
    "continue-on-error": flag,
    "exclude-protected": flag,
    "show-secrets": flag,
    parallel: { type: "string" },
  },
});

function isCommand(text: string | undefined): text is Command {
  return text === "preview" || text === "up" || text === "refresh" || text === "destroy";
}

function keyAndValue(text: string): [key: string, value: string] {
  const at = text.indexOf("=");
  if (at < 0) throw new Error(`expected KEY=VALUE: ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Reads the environment variables with which a user configures the engine. */
function settings(): Record<string, string> {
  const { PULUMI_SKIP_CHECKPOINTS: skip } = process.env;
  return skip === undefined ? {} : { PULUMI_SKIP_CHECKPOINTS: skip };
}

function runOptions(signal: AbortSignal): RunOptions {
  return {
    signal,
    target: values.target ?? [],
    targetReplace: values["target-replace"] ?? [],
    replace: values.replace ?? [],
    targetDependents: values["target-dependents"] ?? false,
    refresh: values.refresh ?? false,
    runProgram: values["run-program"] ?? false,
    previewOnly: values["preview-only"] ?? false,
    continueOnError: values["continue-on-error"] ?? false,
    excludeProtected: values["exclude-protected"] ?? false,
    showSecrets: values["show-secrets"] ?? false,
    ...(values.parallel === undefined ? {} : { parallel: Number(values.parallel) }),
  };
}

async function main(): Promise<number> {
  const [command] = positionals;
  if (!isCommand(command) || values.stack === undefined || values.state === undefined) {
    process.stderr.write(`${usage}\n`);
    return 2;
  }
  const dir = path.resolve(values.dir);
  const stack = new FakeStack({
    dir,
    project: readProject(dir).name,
    stack: values.stack,
    stateFile: path.resolve(values.state),
    childrenSurvive: true,
    env: settings(),
    onLine: (line) => process.stdout.write(`${line}\n`),
  });
  for (const text of values.config ?? []) await stack.setConfig(...keyAndValue(text));
  for (const text of values.secret ?? []) {
    const [key, secret] = keyAndValue(text);
    await stack.setConfig(key, { secret });
  }
  const interrupted = new AbortController();
  const interrupt = (): void => {
    if (interrupted.signal.aborted) process.exit(130);
    process.stderr.write("Waiting for running operations. Press Ctrl-C again to kill them.\n");
    interrupted.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  const { ok } = await stack.run(command, runOptions(interrupted.signal));
  return ok ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);
