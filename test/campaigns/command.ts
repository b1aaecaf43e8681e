/** Options that nobody can use: the command tells its usage. */
export class UsageError extends Error {}

/**
 * Runs a command to its end. What it returns becomes the process's code: 0 when all is well, 1 when a promise was broken;
 * 2 where it was called with options that can't be used, or could not be carried out.
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

/** @throws UsageError for any other text */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new UsageError();
  return number;
}

/** Tells of each promise that was broken. */
export function tellBroken(breaches: readonly string[]): void {
  for (const breach of breaches) console.error(`BROKEN: ${breach}`);
}

/** Tells whether all promises were kept. @returns the command's code */
export function verdictOf(
  broken: number,
  words: { readonly kept?: string; readonly broken?: string } = {},
): number {
  const { kept = "no promise was broken", broken: lost = "promises were broken" } = words;
  console.log(broken === 0 ? kept : `${broken} ${lost}`);
  return broken === 0 ? 0 : 1;
}
