import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { CloudInfraError } from "../../diagnostics/error";
import { pulumiOutput, stackOption } from "../pulumi";
import type { RecoverArgs } from "./args";

/**
 * Reads the stack's export, with decrypted secrets, from Pulumi, a file or standard input.
 *
 * @throws CloudInfraError, never with a part of the export
 */
export function stackExport({ cwd, stack, file }: RecoverArgs): Promise<string> {
  if (file === "-") return text(process.stdin);
  if (file !== undefined) return fromFile(path.resolve(cwd, file));
  return pulumiOutput(cwd, ["stack", "export"], ["--show-secrets", ...stackOption(stack)]);
}

async function fromFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CloudInfraError("input_invalid", `can't read the export ${file}`, {
      hint: "Check the path given with --file. A relative path starts at the folder given with --cwd.",
      cause,
    });
  }
}
