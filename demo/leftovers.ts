import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** A process whose environment contains a mark. */
export interface MarkedProcess {
  readonly pid: number;
  /** Its command line. On systems without /proc, its environment follows. */
  readonly command: string;
}

/**
 * Kills the processes whose environment contains `mark`. If Pulumi's CLI is interrupted before it handles signals, its language host and
 * provider survive, because they are in other process groups.
 */
export async function killMarked(mark: string): Promise<void> {
  for (const { pid } of await findMarked(mark)) killProcess(pid);
}

/** Finds the processes whose environment contains `mark`, except for this process. */
export async function findMarked(mark: string): Promise<MarkedProcess[]> {
  return existsSync("/proc/self/environ") ? markedInProc(mark) : markedInPs(mark);
}

function markedInProc(mark: string): MarkedProcess[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && readProc(pid, "environ").includes(mark))
    .map((pid) => ({ pid, command: readProc(pid, "cmdline").replaceAll("\0", " ") }));
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // the process has ended, or belongs to another user
  }
}

async function markedInPs(mark: string): Promise<MarkedProcess[]> {
  if (process.platform === "win32") return [];
  const { stdout } = await promisify(execFile)("ps", ["axeww", "-o", "pid=,command="], {
    maxBuffer: 2 ** 26,
  });
  return stdout
    .split("\n")
    .filter((line) => line.includes(mark))
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line.replace(/^ *\d+ /, "") }))
    .filter(({ pid }) => pid > 0 && pid !== process.pid);
}

/** Kills a process if it still exists. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    const hasEnded = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!hasEnded) throw error;
  }
}
