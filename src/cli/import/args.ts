import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** What the command line asks for. */
export interface ImportArgs {
  readonly help: boolean;
  /** Id of the project whose instances are wanted. */
  readonly project: string;
  /** Whether the project becomes a resource, too. */
  readonly withProject: boolean;
  /** The folder to work from. */
  readonly cwd: string;
  /** The stack; undefined: the selected one. */
  readonly stack: string | undefined;
  /** Profile of settings that leads to the project; undefined: the settings without one. */
  readonly profile: string | undefined;
  /** Where the program's text goes. */
  readonly program: string;
  /** Where Pulumi's import document goes. */
  readonly document: string;
  /** Whether files that exist are written over. */
  readonly force: boolean;
}

const options = {
  project: { type: "string", default: "" },
  "with-project": { type: "boolean", default: false },
  profile: { type: "string" },
  stack: { type: "string", short: "s" },
  cwd: { type: "string", short: "C", default: "." },
  program: { type: "string", default: "imported.ts" },
  document: { type: "string", default: "import.json" },
  force: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} satisfies ParseArgsOptionsConfig;

/** Reads the command line; `error` says in words what is wrong with it. */
export function parseImportArgs(args: readonly string[]): ImportArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  const { "with-project": withProject, ...others } = values;
  if (!values.help && values.project === "") return { error: "name the project with --project <id>" };
  for (const name of ["profile", "stack", "cwd", "program", "document"] as const) {
    if (values[name] === "") return { error: `--${name} must not be empty` };
  }
  return { ...others, withProject, profile: values.profile, stack: values.stack };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

/** The command's help. */
export function help(): string {
  return `Usage: npx pulumi-cloudinfra import --project <id> [options]

Run it in the folder of your Pulumi program. It lists the instances of a project and writes two files: the text of a
program that declares them, and a document with which \`pulumi import --file\` takes them into the state. Nothing is
changed, neither at the service nor in the stack.

      --project <id>     the project whose instances are wanted
      --with-project     take the project itself in, too: \`pulumi destroy\` would then delete it
      --profile <name>   the profile that leads to it (cloudinfra:profiles); the resources then name it
  -s, --stack <name>     the stack (the selected one)
  -C, --cwd <folder>     work from this folder (.)
      --program <path>   where the program's text goes (imported.ts)
      --document <path>  where the document goes (import.json)
      --force            write over files that are there

Endpoint and token are those of the stack (\`pulumi config\`), else the variables CLOUDINFRA_….
Ends with 0 when both files are written, 1 when it failed, 2 when it was asked in the wrong way.`;
}
