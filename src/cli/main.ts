#!/usr/bin/env node
import { readFileSync } from "node:fs";
import path from "node:path";
import { nodeProblem } from "../node-version";
import type { Command } from "./command";

interface Entry {
  readonly summary: string;
  /** Loads this command only. */
  load(): Promise<Command>;
}

const commands = new Map<string, Entry>([
  [
    "emulator",
    {
      summary: "Run the service in memory, to try the package without an account.",
      load: async () => (await import("./emulator.js")).emulator,
    },
  ],
  [
    "import",
    {
      summary: "Write the files that import the instances of a project.",
      load: async () => (await import("./import.js")).importCommand,
    },
  ],
  [
    "recover",
    {
      summary: "Find creations that an `up` on another machine left unfinished.",
      load: async () => (await import("./recover.js")).recover,
    },
  ],
]);

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "-h") {
    console.log(help());
    return 0;
  }
  if (name === "--version") {
    console.log(version());
    return 0;
  }
  const entry = name === undefined ? undefined : commands.get(name);
  if (entry === undefined) {
    console.error(name === undefined ? help() : `Unknown command "${name}".\n\n${help()}`);
    return 2;
  }
  const problem = nodeProblem();
  if (problem !== undefined) {
    console.error(problem);
    return 1;
  }
  const command = await entry.load();
  return command.run(args);
}

function help(): string {
  const lines = [...commands].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  return `Usage: npx pulumi-cloudinfra <command>

Commands:
${lines.join("\n")}

Options:
  --help      Print this help. \`<command> --help\` prints the options of a command.
  --version   Print the version of the package.`;
}

function version(): string {
  const file = readFileSync(path.join(__dirname, "..", "..", "package.json"), "utf8");
  const { version }: { version?: unknown } = JSON.parse(file);
  return String(version);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    // Only the stack: the properties of an error of the HTTP library may hold a part of a reply.
    const trace = error instanceof Error ? error.stack : String(error);
    console.error(`This is a bug in pulumi-cloudinfra. Report it with this stack trace:\n${trace}`);
    process.exitCode = 1;
  },
);
