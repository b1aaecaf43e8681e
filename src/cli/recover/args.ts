import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** What the command line asks for. */
export interface RecoverArgs {
  readonly help: boolean;
  /** The folder to work from. */
  readonly cwd: string;
  /** The stack; undefined: the selected one. */
  readonly stack: string | undefined;
  /** A stack's export instead of the stack itself; `-`: standard input. */
  readonly file: string | undefined;
  readonly endpoint: string | undefined;
  readonly dryRun: boolean;
  /** URN of the note to drop. */
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

/** Reads the command line; `error` says in words what is wrong with it. */
export function parseRecoverArgs(args: readonly string[]): RecoverArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  for (const name of ["stack", "file", "cwd", "endpoint", "forget"] as const) {
    if (values[name] === "") return { error: `--${name} must not be empty` };
  }
  const { help, cwd, stack, file, endpoint, forget, "dry-run": dryRun } = values;
  if (stack !== undefined && file !== undefined) {
    return { error: "--stack and --file can't be used together: a file is of one stack already" };
  }
  return { help, cwd, stack, file, endpoint, dryRun, forget };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

/** The command's help. */
export function help(): string {
  return `Usage: npx pulumi-cloudinfra recover [options]

Run it in the folder of your Pulumi program, before \`pulumi up\`, on a machine that did not make the last one. It looks
in the stack for creations that were cut off, and notes them here, so that \`pulumi up\` goes on with them instead of
making a second object. It asks the service nothing and needs no token.

  -s, --stack <name>     the stack (the selected one)
      --file <path>      what \`pulumi stack export --show-secrets\` has written, instead of asking Pulumi; -: standard input
  -C, --cwd <folder>     work from this folder (.)
      --endpoint <url>   address of the service (the one the stack was last used with, else CLOUDINFRA_ENDPOINT);
                         a profile with an address of its own keeps it
      --dry-run          only tell
      --forget <urn>     drop the note of this creation: \`pulumi up\` then makes the object anew

Ends with 0 when all is noted or there is nothing to recover, 1 when it failed, 2 when it was asked in the wrong way.`;
}
