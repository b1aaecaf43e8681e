import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { REPOSITORY } from "./modules";

const TSC = path.join(REPOSITORY, "node_modules/typescript/bin/tsc");
const run = promisify(execFile);

/** Compiles the program in `dir` with `strict`. Returns the compiler's errors with paths relative to `dir`, or "". */
export async function typeErrors(dir: string, ...options: string[]): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [TSC, "-p", ".", "--strict", ...options], { cwd: dir });
    return stdout;
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout) || error.message;
    throw error;
  }
}
