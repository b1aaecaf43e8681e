import { accessSync, existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError, codeOf } from "../diagnostics/error";

interface OutputOptions {
  /** Whether to overwrite an existing file. */
  readonly force?: boolean | undefined;
  /** The options that set the file's path, for error messages. */
  readonly option: string;
}

/**
 * Returns the absolute path of a file to write.
 *
 * @throws CloudInfraError `input_invalid` if the file exists and may not be overwritten, or if its folder doesn't exist
 */
export function outputFile(file: string, options: OutputOptions & { readonly cwd: string }): string {
  const absolute = path.resolve(options.cwd, file);
  if (!options.force && existsSync(absolute)) throw fileExists(absolute, options);
  try {
    accessSync(path.dirname(absolute));
  } catch (cause) {
    throw notWritable(absolute, options, cause);
  }
  return absolute;
}

/** @throws CloudInfraError `input_invalid` if the file can't be written */
export async function writeText(file: string, text: string, options: OutputOptions): Promise<void> {
  try {
    await writeFile(file, text, { flag: options.force ? "w" : "wx" });
  } catch (cause) {
    throw codeOf(cause) === "EEXIST" ? fileExists(file, options) : notWritable(file, options, cause);
  }
}

function notWritable(file: string, { option }: OutputOptions, cause: unknown): CloudInfraError {
  const hint = `Choose another path with ${option}.`;
  return new CloudInfraError("input_invalid", `can't write ${file}`, { hint, cause });
}

function fileExists(file: string, { option }: OutputOptions): CloudInfraError {
  return new CloudInfraError("input_invalid", `${file} already exists`, {
    hint: `Choose another path with ${option}, or overwrite the file with --force.`,
  });
}
