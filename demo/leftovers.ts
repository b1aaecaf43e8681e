import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/**
 * Kills the processes that have `mark` in their environment. A CLI that is interrupted before it listens for that dies
 * at once, and its language host and provider, in process groups of their own, live on.
 */
export async function killMarked(mark: string): Promise<void> {
  const marked = existsSync("/proc/self/environ") ? markedInProc(mark) : await markedInPs(mark);
  for (const pid of marked) kill(pid);
}

function markedInProc(mark: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && environmentOf(pid).includes(mark));
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return ""; // it has ended, or is somebody else's
  }
}

async function markedInPs(mark: string): Promise<number[]> {
  if (process.platform === "win32") return [];
  const { stdout } = await promisify(execFile)("ps", ["axeww", "-o", "pid=,command="], {
    maxBuffer: 2 ** 26,
  });
  const lines = stdout.split("\n").filter((line) => line.includes(mark));
  return lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0 && pid !== process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    const gone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!gone) throw error;
  }
}
