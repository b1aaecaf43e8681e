import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { CloudInfraError } from "../../diagnostics/error";
import { pulumiOutput } from "../pulumi";
import type { RecoverArgs } from "./args";

/**
 * The text of the stack's export, with its secrets in clear: from Pulumi, a file or standard input.
 *
 * @throws CloudInfraError in words for what Pulumi lacks; never with a part of the export
 */
export function stackExport({ cwd, stack, file }: RecoverArgs): Promise<string> {
  if (file === "-") return text(process.stdin);
  if (file !== undefined) return fromFile(path.resolve(cwd, file));
  const named = stack === undefined ? [] : ["--stack", stack];
  return pulumiOutput(cwd, ["stack", "export"], ["--show-secrets", ...named]);
}

async function fromFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CloudInfraError("input_invalid", `the stack's export can't be read: ${why}`, { cause });
  }
}
