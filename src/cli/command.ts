/** One command of `npx pulumi-cloudinfra`. */
export interface Command {
  /** Runs it with the words behind its name; gives the exit code: 0 done, 1 failed, 2 asked in the wrong way. */
  run(args: readonly string[]): Promise<number>;
}
