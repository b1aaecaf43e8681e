import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { REPOSITORY } from "../harness/modules";

interface RunningDemo {
  /** Resolves once the demo has written this; rejects if it ends without. */
  readonly wrote: (words: string) => Promise<void>;
  /** Ctrl-C, as it reaches the demo where there is no terminal. */
  readonly interrupt: () => void;
  readonly end: Promise<DemoEnd>;
  /** All that it has written so far. */
  readonly output: () => string;
}

interface DemoEnd {
  readonly code: number | null;
  readonly output: string;
}

/** A place where a demo runs and from which nothing of it gets out: a home and a temporary folder of its own. */
export interface DemoPlace {
  start(...args: string[]): RunningDemo;
  /** The processes that were started here and still run: only where the system tells (Linux). */
  processes(): string[];
  /** What is left, but for the caches of Node and of tools, which serve every program on the machine. */
  leftFiles(): string[];
  remove(): void;
}

export function demoPlace(environment: Readonly<Record<string, string>> = {}): DemoPlace {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-test-demo-"));
  const home = path.join(root, "home");
  const temporary = path.join(root, "tmp");
  for (const folder of [home, temporary]) mkdirSync(folder);
  // A user's own Pulumi, which the demo must neither use nor touch.
  const users = {
    HOME: home,
    PULUMI_HOME: path.join(home, "pulumi"),
    PULUMI_BACKEND_URL: `file://${home}`,
    PULUMI_STACK: "production",
    CLOUDINFRA_ENDPOINT: "http://127.0.0.1:1/",
    CLOUDINFRA_TOKEN: "users-own",
  };
  // In CI, progress comes by quarters only, and these waits are short.
  const env = { ...process.env, CI: "", ...users, TMPDIR: temporary, TSX_DISABLE_CACHE: "1", ...environment };
  return {
    start: (...args) => {
      const script = path.join(REPOSITORY, "demo/start.ts");
      // Not in the repository's folder: the demo must not depend on where it is started.
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
        return []; // it has ended, or is somebody else's
      }
    });
}
