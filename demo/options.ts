import { parseArgs } from "node:util";

export interface DemoOptions {
  /** Stay after the second `up`, with the service running, instead of destroying. */
  readonly keep: boolean;
  /** The engine asked for; undefined: the real one where it is on PATH. */
  readonly engine: "fake" | "pulumi" | undefined;
}

export const USAGE = `npm start -- [--keep] [--engine fake|pulumi]

  --keep             stop after the second up and leave the service running until Ctrl-C
  --engine fake      use the fake engine of the tests, also where \`pulumi\` is on PATH
  --engine pulumi    use \`pulumi\`, and fail where it is not on PATH`;

/** Reads the command line; a text instead says what is wrong with it. */
export function parseOptions(args: readonly string[]): DemoOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { keep: { type: "boolean", default: false }, engine: { type: "string" } },
    });
    const { keep, engine } = values;
    if (engine !== undefined && engine !== "fake" && engine !== "pulumi")
      return `There is no engine "${engine}".`;
    return { keep, engine };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
