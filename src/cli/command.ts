import { isCloudInfraError } from "../diagnostics/error";
import { type ErrorContext, formatError } from "../diagnostics/format";

/** One command of `npx pulumi-cloudinfra`. */
export interface Command {
  /** Runs the command and returns the exit code: 0 for success, 1 for a failure, 2 for a usage error. */
  run(args: readonly string[]): Promise<number>;
}

/** Quotes a word for a shell if necessary. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Prints why a command failed, and returns its exit code. Rethrows errors that are not a {@link CloudInfraError}: those are bugs. */
export function reportFailure(error: unknown, wording: ErrorContext): number {
  if (!isCloudInfraError(error)) throw error;
  console.error(formatError(error, wording));
  return 1;
}

/** Describes an error of `parseArgs`, without its advice on positional arguments, which no command has. */
export function usageError(error: unknown): { error: string } {
  const message = error instanceof Error ? error.message : String(error);
  return { error: message.replace(/\.?( To specify a positional argument.*)?$/s, ".") };
}

/** Prints a usage error, and returns the exit code. */
export function reportUsageError(command: string, message: string): number {
  console.error(`${message}\nRun \`npx pulumi-cloudinfra ${command} --help\` for the options.`);
  return 2;
}
