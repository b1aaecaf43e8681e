import { accessSync, existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError, codeOf } from "../diagnostics/error";

/**
 * Checks that a file can be written, before a command takes the time to determine the content.
 *
 * @param options.force whether to overwrite an existing file
 * @param options.option the options that set the file's path, for error messages
 * @throws CloudInfraError `input_invalid` if the file exists and may not be overwritten, or if its folder doesn't exist
 */
export function outputFile(
  file: string,
  { cwd, force, option }: { readonly cwd: string; readonly force?: boolean; readonly option: string },
) {
  const absolute = path.resolve(cwd, file);
  const fileExists = (): CloudInfraError =>
    new CloudInfraError("input_invalid", `${absolute} already exists`, {
      hint: `Choose another path with ${option}, or overwrite the file with --force.`,
    });
  const notWritable = (cause: unknown): CloudInfraError => {
    const hint = `Choose another path with ${option}.`;
    return new CloudInfraError("input_invalid", `can't write ${absolute}`, { hint, cause });
  };
  if (!force && existsSync(absolute)) throw fileExists();
  try {
    accessSync(path.dirname(absolute));
  } catch (cause) {
    throw notWritable(cause);
  }
  return {
    path: absolute,
    /** @throws CloudInfraError `input_invalid` if the file can't be written */
    async write(text: string): Promise<void> {
      try {
        await writeFile(absolute, text, { flag: force ? "w" : "wx" });
      } catch (cause) {
        throw codeOf(cause) === "EEXIST" ? fileExists() : notWritable(cause);
      }
    },
  };
}
