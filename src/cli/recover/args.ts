import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { usageError } from "../command";

/** The parsed command line. */
export interface RecoverArgs {
  readonly help: boolean;
  /** The working directory, from which the other paths start. */
  readonly cwd: string;
  /** @default the selected stack */
  readonly stack: string | undefined;
  /** Path of an export that is read instead of the stack's; `-` for standard input. */
  readonly file: string | undefined;
  readonly endpoint: string | undefined;
  readonly dryRun: boolean;
  /** URN of the creation whose entry is removed. */
  readonly forget: string | undefined;
}

const options = {
  stack: { type: "string", short: "s" },
  file: { type: "string" },
  cwd: { type: "string", short: "C", default: "." },
  endpoint: { type: "string" },
  "dry-run": { type: "boolean", default: false },
  forget: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} satisfies ParseArgsOptionsConfig;

/** Parses the command line; `error` is a message for a usage error. */
export function parseRecoverArgs(args: readonly string[]): RecoverArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return usageError(error);
  }
  for (const name of ["stack", "file", "cwd", "endpoint", "forget"] as const) {
    if (values[name] === "") return { error: `--${name} must not be empty.` };
  }
  const { help, cwd, stack, file, endpoint, forget, "dry-run": dryRun } = values;
  if (stack !== undefined && file !== undefined) {
    return { error: "--stack and --file can't be used together: the file is the export of one stack." };
  }
  return { help, cwd, stack, file, endpoint, dryRun, forget };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

export function help(): string {
  return `Usage: npx pulumi-cloudinfra recover [options]

Finds the creations that an interrupted \`pulumi up\` on another machine left
unfinished, and writes journal entries for them. The next \`pulumi up\` on this
machine resumes them and creates nothing twice. Run the command in the folder of
your Pulumi program, before \`pulumi up\`. It sends no requests to the service and
needs no token.

Options:
  -s, --stack <name>     Use this stack. Default: the selected stack.
      --file <path>      Read the output of \`pulumi stack export --show-secrets\` from
                         this file, or from standard input (-).
  -C, --cwd <folder>     Run in this folder. The other paths start there.
      --endpoint <url>   The address of the service. Default: the address that the stack
                         was last used with, or CLOUDINFRA_ENDPOINT. Explicit providers
                         with an address of their own keep it.
      --dry-run          Only report what would be done.
      --forget <urn>     Remove the entry of this creation, at all addresses unless
                         --endpoint names one. The next \`pulumi up\` then creates the
                         object again.
  -h, --help             Print this help.

Exit codes: 0 if all entries were written or there was nothing to recover, 1 if
the command failed, 2 for a usage error.`;
}
