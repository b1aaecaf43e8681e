import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** A process that has a mark in its environment. */
export interface MarkedProcess {
  readonly pid: number;
  /** Its command line; where the system tells no more, with what stands behind it. */
  readonly command: string;
}

/**
 * Kills the processes that have `mark` in their environment. A CLI that is interrupted before it listens for that dies
 * at once, and its language host and provider, in process groups of their own, live on.
 */
export async function killMarked(mark: string): Promise<void> {
  for (const { pid } of await findMarked(mark)) killProcess(pid);
}

/** The processes, but for this one, that have `mark` in their environment. */
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
    return ""; // it has ended, or is somebody else's
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

/** Kills a process, if it is still there. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    const gone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!gone) throw error;
  }
}
