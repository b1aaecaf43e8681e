import { parseArgs } from "node:util";

export interface DemoOptions {
  /** Whether to keep the stack and the service after the last `up`, instead of destroying the stack. */
  readonly keep: boolean;
  /** @default `pulumi` if it is on the PATH, else `fake` */
  readonly engine: "fake" | "pulumi" | undefined;
}

export const USAGE = `Usage: npm start -- [--keep] [--engine fake|pulumi]

  --keep             Stop after the second \`up\`, and keep the service running until Ctrl-C.
  --engine fake      Use the fake engine of the tests, even if \`pulumi\` is on the PATH.
  --engine pulumi    Use \`pulumi\`, and fail if it isn't on the PATH.`;

/** Parses the command line. Returns a message for a usage error. */
export function parseOptions(args: readonly string[]): DemoOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { keep: { type: "boolean", default: false }, engine: { type: "string" } },
    });
    const { keep, engine } = values;
    if (engine !== undefined && engine !== "fake" && engine !== "pulumi")
      return `Unknown engine "${engine}". Use "fake" or "pulumi".`;
    return { keep, engine };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
