#!/usr/bin/env node
import path from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { faultKinds } from "../emulator/faults";
import { behaviourSettings, parseBehaviourOption, parseFaultOption } from "../emulator/options";
import { isLoopbackAddress } from "../emulator/server";
import { nodeProblem } from "../package";
import type { EmulatorCommandOptions } from "./emulator";
import type { ImportOptions } from "./import";
import type { ProbeOptions } from "./probe";
import type { RecoverOptions } from "./recover";

/** Runs each command. Its module is loaded on demand, so that help and usage errors are printed quickly. */
const actions = {
  emulator: async (options: EmulatorCommandOptions) =>
    exitWith((await import("./emulator.js")).runEmulator(options)),
  import: async (options: ImportOptions) => exitWith((await import("./import.js")).importInstances(options)),
  probe: async (options: ProbeOptions) => exitWith((await import("./probe.js")).probe(options)),
  recover: async (options: RecoverOptions) => exitWith((await import("./recover.js")).recover(options)),
};

async function exitWith(code: Promise<number>): Promise<void> {
  process.exitCode = await code;
}

const PROGRAM = "npx pulumi-cloudinfra";

/** Matches the start of commander's message about an invalid option value, which the console output rewords. */
const INVALID_ARGUMENT = /(?<=^error: )option ('.*?') argument ('.*') is invalid\. /s;

/** Defines the command line. `parseAsync` throws a `CommanderError` for usage errors and after printing the help or the version. */
export function commandLine(version: string, run = actions): Command {
  const program = new Command(PROGRAM)
    .description("Tools for Pulumi programs that use pulumi-cloudinfra.")
    .version(version, "--version", "Print the version.")
    .helpOption("-h, --help", "Print this help.")
    .helpCommand("help [command]", "Print the help of a command.")
    .showHelpAfterError(`Run "${PROGRAM} --help" for usage.`)
    .configureHelp({ subcommandTerm: (command) => command.name() })
    // `console.log` and `console.error` ignore the error of a closed pipe.
    .configureOutput({
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
      outputError: (text, write) => write(text.replace(INVALID_ARGUMENT, "invalid value $2 for option $1: ")),
    })
    .exitOverride();
  addHelp(
    program,
    "docs/README.md",
    `Run "${PROGRAM} <command> --help" for the options of a command.`,
    `${PROGRAM} emulator`,
    `${PROGRAM} import --project prj-1`,
    `${PROGRAM} probe`,
    `${PROGRAM} recover --stack prod`,
  );
  const add = (name: string, summary: string): Command =>
    program.command(name).summary(summary).showHelpAfterError(`Run "${PROGRAM} ${name} --help" for usage.`);
  defineEmulator(add("emulator", "Run the service in memory, without an account."), run.emulator);
  defineImport(add("import", "Write files that import a project's instances into a stack."), run.import);
  defineProbe(add("probe", "Check whether this package works with a service."), run.probe);
  defineRecover(add("recover", "Make interrupted creations from another machine resumable."), run.recover);
  for (const option of program.commands.flatMap(({ options }) => options))
    if (option.required && option.parseArg === undefined) option.argParser(nonEmpty);
  return program;
}

function defineEmulator(command: Command, run: typeof actions.emulator): void {
  const faults = `A rule is a JSON object or one of these kinds: ${faultKinds.join(", ")}.`;
  const switches = Object.entries(behaviourSettings).map(([key, { allowed }]) => `  ${key}=${allowed}`);
  command
    .description(
      "Run the Cloud Infrastructure Service in memory, for first steps and tests without an account.",
    )
    .option("--port <number>", "Listen on this port. 0 selects a free port.", parsePort, 8787)
    .option("--host <address>", "Listen on this address.", "127.0.0.1")
    .option(
      "--token <token>",
      'Accept this bearer token. Required if other machines can reach the host. (default: "emulator-token")',
    )
    .option(
      "--operation-time <seconds>",
      'Set the duration of operations. With --like, the default comes from the profile. (default: "3")',
      parseSeconds,
    )
    .option("--fault <rule>", `Make requests fail. Can be repeated. ${faults}`, addFault)
    .option(
      "--behaviour <key=value>",
      "Change behavior that the API doesn't specify. Can be repeated. The keys and values are listed below.",
      addBehaviour,
    )
    .option("--like <file>", "Behave like the service in this profile, which `probe --out` writes.")
    .option(
      "--no-page",
      "Don't serve the web page with objects and requests. The page is never served if other machines can reach the host.",
    )
    .option("--verbose", "Print a line for each request.")
    .option("--json", "Print the endpoint and the token as JSON, and requests as JSON lines.")
    .addHelpText("after", `\nKeys and values of --behaviour:\n${switches.join("\n")}`)
    .action((options: EmulatorCommandOptions) => {
      const { host, token } = options;
      if (token === undefined && !isLoopbackAddress(host))
        command.error(
          `error: --host ${host} requires --token, because other machines can reach this address`,
        );
      return run(options);
    });
  addHelp(
    command,
    "docs/emulator.md",
    exitCodes("the command was stopped with Ctrl-C or SIGTERM", "the command failed"),
    `${PROGRAM} emulator --operation-time 60 --verbose`,
    `${PROGRAM} emulator --behaviour ids=counter --behaviour softDelete=deleted`,
    `${PROGRAM} emulator --fault '{"kind":"gateway","status":520,"method":"POST","times":"all"}'`,
  );
}

function defineImport(command: Command, run: typeof actions.import): void {
  command
    .usage("--project <id> [options]")
    .description(
      `Write files that import all instances of a project into a stack.

Run the command in the folder of your Pulumi program. It lists the instances and writes two files: a program that declares them, and the \
input of \`pulumi import --file\`. It omits deleted instances and those that the stack already manages. It changes nothing in the service or \
in the stack.

The endpoint and the token come from the stack's configuration or from the CLOUDINFRA_... environment variables. With --provider, they come \
from the stack's state.`,
    )
    // If `--project` were declared as required, commander would report it as missing before it reports a misspelled option.
    .option("--project <id>", "Import the instances of this project. Required.")
    .option(
      "--with-project",
      "Also import the project. `pulumi destroy` then deletes it unless it is protected.",
    )
    .option("--provider <name>", "Use this explicit provider of the stack, and assign the resources to it.");
  addTarget(command)
    .option("--program <path>", "Write the program to this file.", "imported.ts")
    .option("--document <path>", "Write the input of `pulumi import --file` to this file.", "import.json")
    .option("--force", "Overwrite existing files.")
    .option("--json", "Print the result as JSON.")
    .action(({ project, ...options }: Omit<ImportOptions, "project"> & { project?: string }) => {
      if (project === undefined) command.error("error: required option '--project <id>' not specified");
      if (path.resolve(options.program) === path.resolve(options.document))
        command.error("error: --program and --document must be different files");
      return run({ ...options, project });
    });
  addHelp(
    command,
    "examples/importing/README.md",
    exitCodes("the files were written, or there was nothing to import", "the command failed"),
    `${PROGRAM} import --project prj-1`,
    `${PROGRAM} import --project prj-1 --with-project --stack prod --json`,
  );
}

function defineProbe(command: Command, run: typeof actions.probe): void {
  command
    .description(
      `Check whether this package works with the configured service, and which settings it requires.

The command reads from the service and reports behavior that the specification doesn't define. It changes nothing: it sends only GET \
requests. With --create, it also creates an instance, changes it, and deletes it again, even after Ctrl-C.

In the folder of a Pulumi program, the endpoint and the token come from the stack's configuration or from the CLOUDINFRA_... environment \
variables. With --provider, they come from the stack's state. Elsewhere, they come from the environment variables.`,
    )
    .option("--provider <name>", "Use this explicit provider of the stack.");
  addTarget(command)
    .option("--create", "Create an instance, change it and delete it. Requires --project or --new-project.")
    .option("--project <id>", "Create the instance in this project.")
    .option(
      "--new-project",
      "Create the instance in a new project, which is also deleted. Requires --region.",
    )
    .option("--region <name>", "Create the new project in this region.")
    .option("--image <name>", "Use this image. (default: the value of an existing instance)")
    .option("--flavor <name>", "Use this flavor. (default: the value of an existing instance)")
    .option("--network <name>", "Use this network. (default: the value of an existing instance)")
    .option("-y, --yes", "Create without confirmation.")
    .option("--clean", "Only delete the objects of an interrupted probe.")
    .option("--out <file>", "Write a profile of the service, for `emulator --like`.")
    .option("--force", "Overwrite an existing file.")
    .option("--json", "Print the report as JSON.")
    .action((options: ProbeOptions) => {
      const problem = problemWith(options);
      if (problem !== undefined) command.error(`error: ${problem}`);
      return run(options);
    });
  addHelp(
    command,
    "docs/probe.md",
    exitCodes(
      "the package works with the service",
      "the package doesn't work with the service, or the command failed",
    ),
    `${PROGRAM} probe`,
    `${PROGRAM} probe --stack prod --json`,
    `${PROGRAM} probe --out service.json`,
    `${PROGRAM} probe --create --new-project --region eu-1 --image debian-13 --flavor small --network default`,
  );
}

/** Returns an error message if the options can't be combined or a required option is missing. */
function problemWith(options: ProbeOptions): string | undefined {
  const { create, clean, project, newProject, region, yes, out, json } = options;
  if (create && clean) return "--create and --clean can't be used together";
  if (clean && (json || out !== undefined))
    return "--clean can't be used with --json or --out, because it prints no report";
  if (!create) {
    const ofCreate = ["project", "newProject", "region", "image", "flavor", "network", "yes"] as const;
    const given = ofCreate.find((name) => options[name] !== undefined);
    return given && `--${given === "newProject" ? "new-project" : given} requires --create`;
  }
  if ((project !== undefined) === (newProject === true))
    return "--create requires either --project or --new-project";
  if ((newProject === true) !== (region !== undefined))
    return newProject ? "--new-project requires --region" : "--region requires --new-project";
  return yes || process.stdin.isTTY
    ? undefined
    : "--create requires --yes if there is no terminal for the confirmation";
}

function defineRecover(command: Command, run: typeof actions.recover): void {
  command.description(
    `Make interrupted creations from another machine resumable.

Run the command in the folder of your Pulumi program, before \`pulumi up\`. It finds the interrupted creations in the stack's state and writes \
journal entries for them. The next \`pulumi up\` on this machine resumes them and creates nothing twice. The command sends no requests to the \
service and needs no token.`,
  );
  addTarget(command)
    .addOption(
      new Option(
        "--file <path>",
        "Read the output of `pulumi stack export --show-secrets` from this file. - reads standard input.",
      ).conflicts("stack"),
    )
    .option(
      "--endpoint <url>",
      "Use this address of the service. Explicit providers with their own address keep it. (default: the address of the last " +
        "`pulumi up`, or CLOUDINFRA_ENDPOINT)",
    )
    .option(
      "--forget <urn>",
      "Give up this creation. The next `pulumi up` creates the object again. Removes the journal entries at all addresses unless " +
        "you specify --endpoint.",
    )
    .option("--dry-run", "Report what the command would do, but change nothing.")
    .option("--json", "Print the result as JSON.")
    .action(run);
  addHelp(
    command,
    "docs/recovery.md",
    exitCodes(
      "all journal entries were written, or there was nothing to recover",
      "the command failed; don't run `pulumi up` before you have fixed the cause",
    ),
    `${PROGRAM} recover`,
    `${PROGRAM} recover --stack prod --dry-run`,
    `pulumi stack export --show-secrets | ${PROGRAM} recover --file -`,
  );
}

function addTarget(command: Command): Command {
  return command
    .option("-s, --stack <name>", "Use this stack. (default: the selected stack)")
    .option("-C, --cwd <folder>", "Run in this folder, and resolve other paths from it.", ".");
}

/** Adds examples, notes, and the path of a documentation page in this package, which the user can open. */
function addHelp(command: Command, page: string, notes: string, ...examples: readonly string[]): void {
  const absolute = path.join(__dirname, "..", "..", page);
  const relative = path.relative(process.cwd(), absolute);
  const file = relative.startsWith("..") ? absolute : relative;
  command.addHelpText(
    "after",
    `\nExamples:\n  ${examples.join("\n  ")}\n\n${notes}\n\nLearn more:\n  ${file}`,
  );
}

function exitCodes(success: string, failure: string): string {
  return `Exit codes:\n  0  ${success}\n  1  ${failure}\n  2  usage error`;
}

function nonEmpty(text: string): string {
  if (text === "") throw new InvalidArgumentError("must not be empty");
  return text;
}

function parsePort(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError("must be a number from 0 to 65535");
  return Number(text);
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() === "" || !Number.isFinite(seconds) || seconds < 0)
    throw new InvalidArgumentError("must be a number of seconds");
  return seconds;
}

function addFault(
  text: string,
  others: EmulatorCommandOptions["fault"] = [],
): EmulatorCommandOptions["fault"] {
  const parsed = parseFaultOption(text);
  if ("error" in parsed) throw new InvalidArgumentError(parsed.error);
  return [...others, parsed.fault];
}

function addBehaviour(
  text: string,
  others: EmulatorCommandOptions["behaviour"] = {},
): EmulatorCommandOptions["behaviour"] {
  const parsed = parseBehaviourOption(text);
  if ("error" in parsed) throw new InvalidArgumentError(parsed.error);
  return { ...others, ...parsed.behaviour };
}

/** Runs the command line, and sets the exit code: 0 for success, 1 for a failure, 2 for a usage error. */
async function main(args: readonly string[]): Promise<void> {
  const { version }: { version: string } = require("../../package.json");
  const program = commandLine(version).hook("preAction", () => {
    const problem = nodeProblem();
    if (problem === undefined) return;
    console.error(problem);
    process.exit(1);
  });
  await program.parseAsync(args, { from: "user" }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2; // commander has already printed the message
  });
}

if (require.main === module)
  main(process.argv.slice(2)).catch((error: unknown) => {
    // The message contains only the stack trace, because other properties of an HTTP error may contain parts of a reply.
    const trace = error instanceof Error ? error.stack : String(error);
    console.error(`This is a bug in pulumi-cloudinfra. Report it with this stack trace:\n${trace}`);
    process.exitCode = 1;
  });
