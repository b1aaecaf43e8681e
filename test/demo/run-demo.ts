import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { REPOSITORY } from "../harness/modules";

interface RunningDemo {
  /** Resolves when the demo has printed this. Rejects if the demo ends first. */
  readonly wrote: (words: string) => Promise<void>;
  /** Sends Ctrl-C, as it reaches the demo without a terminal. */
  readonly interrupt: () => void;
  readonly end: Promise<DemoEnd>;
  /** Returns the output so far. */
  readonly output: () => string;
}

interface DemoEnd {
  readonly code: number | null;
  readonly output: string;
}

/** An isolated environment for demos, with its own home and temporary folder. */
export interface DemoPlace {
  start(...args: string[]): RunningDemo;
  /** Returns the processes that were started here and are still running (only on Linux). */
  processes(): string[];
  /** Returns the remaining files, except for the caches of Node and of tools. */
  leftFiles(): string[];
  remove(): void;
}

export function demoPlace(environment: Readonly<Record<string, string>> = {}): DemoPlace {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-test-demo-"));
  const home = path.join(root, "home");
  const temporary = path.join(root, "tmp");
  for (const folder of [home, temporary]) mkdirSync(folder);
  // The user's own Pulumi, which the demo must neither use nor change.
  const users = {
    HOME: home,
    PULUMI_HOME: path.join(home, "pulumi"),
    PULUMI_BACKEND_URL: `file://${home}`,
    PULUMI_STACK: "production",
    CLOUDINFRA_ENDPOINT: "http://127.0.0.1:1/",
    CLOUDINFRA_TOKEN: "users-own",
  };
  // In CI, the provider reports progress only in quarters, and these waits are short.
  const env = { ...process.env, CI: "", ...users, TMPDIR: temporary, TSX_DISABLE_CACHE: "1", ...environment };
  return {
    start: (...args) => {
      const script = path.join(REPOSITORY, "demo/start.ts");
      // Outside the repository, because the demo must work from any folder.
      const tsx = require.resolve("tsx");
      return running(
        spawn(process.execPath, ["--import", tsx, script, ...args], {
          cwd: root,
          env,
          stdio: ["ignore", "pipe", "pipe"],
        }),
      );
    },
    processes: () => processesWith(root),
    leftFiles: () => [
      ...readdirSync(home),
      ...readdirSync(temporary).filter((name) => !name.endsWith("compile-cache")),
    ],
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function running(child: ChildProcess): RunningDemo {
  let output = "";
  const listeners = new Set<() => void>();
  const take = (text: string): void => {
    output += text;
    for (const listener of listeners) listener();
  };
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr?.setEncoding("utf8").on("data", take);
  const end = new Promise<DemoEnd>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
  const wrote = (words: string): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (output.includes(words)) resolve();
      };
      listeners.add(look);
      look();
    });
    const ended = end.then(() => {
      if (!output.includes(words)) throw new Error(`the demo ended without "${words}":\n${output}`);
    });
    return Promise.race([seen, ended]);
  };
  return { wrote, interrupt: () => child.kill("SIGINT"), end, output: () => output };
}

function processesWith(mark: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark)
          ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")]
          : [];
      } catch {
        return []; // it has ended, or belongs to another user
      }
    });
}
