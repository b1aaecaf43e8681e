import { CommanderError } from "commander";
import { commandLine } from "../../src/cli/main";

/** Parses a command line without running it: its options, or the error message. */
export async function parseCommandLine(...args: string[]): Promise<{ options: object } | { error: string }> {
  let parsed: object = {};
  const printed: string[] = [];
  const action = async (options: object): Promise<void> => {
    parsed = options;
  };
  const program = commandLine("0.0.0", { emulator: action, import: action, probe: action, recover: action });
  for (const command of [program, ...program.commands])
    command.configureOutput({ writeOut: () => {}, writeErr: (text) => void printed.push(text) });
  try {
    await program.parseAsync(args, { from: "user" });
    return { options: parsed };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { error: printed.join("") };
  }
}
