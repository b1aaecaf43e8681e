/** Invalid command-line options. The command prints its usage. */
export class UsageError extends Error {}

/**
 * Runs a command. It exits with the returned code: 0 for success, or 1 if a promise was broken. It exits with 2 for
 * invalid options and other errors.
 */
export function runCommand(usage: string, main: () => Promise<number>): void {
  main().then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      console.error(error instanceof UsageError ? `${error.message}${error.message && "\n"}${usage}` : error);
      process.exitCode = 2;
    },
  );
}

/** @throws UsageError if the string isn't a whole number */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new UsageError();
  return number;
}

/** Prints each violation. */
export function tellBroken(breaches: readonly string[]): void {
  for (const breach of breaches) console.error(`BROKEN: ${breach}`);
}

/** Prints whether all promises were kept. @returns the exit code */
export function verdictOf(
  broken: number,
  words: { readonly kept?: string; readonly broken?: string } = {},
): number {
  const { kept = "no promise was broken", broken: lost = "promises were broken" } = words;
  console.log(broken === 0 ? kept : `${broken} ${lost}`);
  return broken === 0 ? 0 : 1;
}
