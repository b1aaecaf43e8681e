import path from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { usageError } from "../command";

/** The parsed command line. */
export interface ImportArgs {
  readonly help: boolean;
  /** Id of the project whose instances are imported. */
  readonly project: string;
  /** Whether the project is imported too. */
  readonly withProject: boolean;
  /** The working directory, from which the other paths start. */
  readonly cwd: string;
  /** @default the selected stack */
  readonly stack: string | undefined;
  /** Name of the explicit provider that leads to the project. @default the default provider */
  readonly provider: string | undefined;
  /** Path of the program text to write. */
  readonly program: string;
  /** Path of Pulumi's import document to write. */
  readonly document: string;
  /** Whether existing files are overwritten. */
  readonly force: boolean;
}

const options = {
  project: { type: "string", default: "" },
  "with-project": { type: "boolean", default: false },
  provider: { type: "string" },
  stack: { type: "string", short: "s" },
  cwd: { type: "string", short: "C", default: "." },
  program: { type: "string", default: "imported.ts" },
  document: { type: "string", default: "import.json" },
  force: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} satisfies ParseArgsOptionsConfig;

/** Parses the command line; `error` is a message for a usage error. */
export function parseImportArgs(args: readonly string[]): ImportArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return usageError(error);
  }
  const { "with-project": withProject, ...others } = values;
  if (!values.help && values.project === "") return { error: "Give the id of the project with --project." };
  for (const name of ["provider", "stack", "cwd", "program", "document"] as const) {
    if (values[name] === "") return { error: `--${name} must not be empty.` };
  }
  if (path.resolve(values.program) === path.resolve(values.document))
    return { error: "--program and --document must be different files." };
  return { ...others, withProject, provider: values.provider, stack: values.stack };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

export function help(): string {
  return `Usage: npx pulumi-cloudinfra import --project <id> [options]

Imports all instances of a project. Run the command in the folder of your Pulumi
program. It lists the instances and writes two files: the text of a program that
declares them, and a document for \`pulumi import --file\`. It changes nothing in
the service or in the stack. It leaves out deleted instances and those that the
stack already manages.

Options:
      --project <id>     Import the instances of this project. Required.
      --with-project     Import the project too. \`pulumi destroy\` then deletes it
                         unless it is protected.
      --provider <name>  Use this explicit provider of the stack. The resources get it.
  -s, --stack <name>     Use this stack. Default: the selected stack.
  -C, --cwd <folder>     Run in this folder. The other paths start there.
      --program <path>   Write the program text to this file. Default: imported.ts.
      --document <path>  Write the import document to this file. Default: import.json.
      --force            Overwrite existing files.
  -h, --help             Print this help.

The endpoint and the token come from the stack's configuration or from the
CLOUDINFRA_... environment variables, or with --provider from the stack's state.

Exit codes: 0 if the files were written or there was nothing to import, 1 if the
command failed, 2 for a usage error.`;
}
