#!/usr/bin/env node
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Command } from "./command";

interface Entry {
  readonly summary: string;
  /** Loads the command and what it needs; nobody waits for the others. */
  load(): Promise<Command>;
}

const commands = new Map<string, Entry>([
  [
    "emulator",
    {
      summary: "run the service in memory, to try the package without an account",
      load: async () => (await import("./emulator.js")).emulator,
    },
  ],
  [
    "import",
    {
      summary: "write the program text and the import document for the instances of a project",
      load: async () => (await import("./import.js")).importCommand,
    },
  ],
  [
    "recover",
    {
      summary: "note the creations that an `up` on another machine left unfinished, before the next `up`",
      load: async () => (await import("./recover.js")).recover,
    },
  ],
]);

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h") {
    console.log(help());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version") {
    console.log(version());
    return 0;
  }
  const entry = commands.get(name);
  if (entry === undefined) {
    console.error(`pulumi-cloudinfra has no command "${name}".\n\n${help()}`);
    return 2;
  }
  const command = await entry.load();
  return command.run(args);
}

function help(): string {
  const lines = [...commands].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  return `Usage: npx pulumi-cloudinfra <command>

Commands:
${lines.join("\n")}

  <command> --help   what a command can do
  --version          the version of the package`;
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
    console.error(error);
    process.exitCode = 1;
  },
);
