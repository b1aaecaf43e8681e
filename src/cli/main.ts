#!/usr/bin/env node
import { CommanderError } from "commander";
import { nodeProblem } from "../package";
import { commandLine } from "./commands";

/** Runs the command line, and sets the exit code: 0 for success, 1 for a failure, 2 for a usage error. */
async function main(args: readonly string[]): Promise<void> {
  const { version }: { version: string } = require("../../package.json");
  // Each command's module is loaded on demand, so that help and usage errors are printed quickly.
  const program = commandLine(version, {
    emulator: async (options) => exitWith((await import("./emulator.js")).runEmulator(options)),
    import: async (options) => exitWith((await import("./import.js")).importInstances(options)),
    probe: async (options) => exitWith((await import("./probe.js")).probe(options)),
    recover: async (options) => exitWith((await import("./recover.js")).recover(options)),
  });
  program.hook("preAction", () => {
    const problem = nodeProblem();
    if (problem === undefined) return;
    console.error(problem);
    process.exit(1);
  });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2; // commander has already printed the message
  }
}

async function exitWith(code: Promise<number>): Promise<void> {
  process.exitCode = await code;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  // The message contains only the stack trace, because other properties of an HTTP error may contain parts of a reply.
  const trace = error instanceof Error ? error.stack : String(error);
  console.error(`This is a bug in pulumi-cloudinfra. Report it with this stack trace:\n${trace}`);
  process.exitCode = 1;
});
