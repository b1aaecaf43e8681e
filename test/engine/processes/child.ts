import { type ChildProcess, spawn } from "node:child_process";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

export interface ChildOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Survives if the engine is killed, and receives no Ctrl-C from the terminal, as under the real CLI. */
  readonly survivesEngine: boolean;
  onLine(stream: "stdout" | "stderr", line: string): void;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A Node child process whose output is read line by line. */
export class Child {
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;

  constructor(options: ChildOptions) {
    const preload = options.survivesEngine ? [] : ["--require", path.join(__dirname, "end-with-parent.cjs")];
    this.#process = spawn(process.execPath, [...preload, options.script, ...options.args], {
      cwd: options.cwd,
      env: environment(options.env),
      stdio: [options.survivesEngine ? "ignore" : "pipe", "pipe", "pipe"],
      detached: options.survivesEngine,
    });
    const output = (["stdout", "stderr"] as const).map((name) => this.#read(name, options));
    this.exited = new Promise<Exit>((resolve, reject) => {
      this.#process.once("error", reject);
      this.#process.once("exit", (code, signal) => resolve({ code, signal }));
    }).then(async (exit) => {
      // Processes that outlive it may keep the pipes open, so don't wait for their output.
      await Promise.race([Promise.all(output), new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
      return exit;
    });
    this.exited.catch(() => undefined);
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async end(): Promise<void> {
    if (this.running) this.#process.kill("SIGINT");
    const timer = setTimeout(() => void this.kill(), 5_000);
    await this.exited.catch(() => undefined).finally(() => clearTimeout(timer));
  }

  async kill(): Promise<void> {
    if (this.running) this.#process.kill("SIGKILL");
    await this.exited.catch(() => undefined);
  }

  #read(name: "stdout" | "stderr", options: ChildOptions): Promise<void> {
    const input = this.#process[name];
    if (!input) return Promise.resolve();
    const lines = readline.createInterface({ input });
    lines.on("line", (line) => options.onLine(name, line));
    return new Promise((resolve) => lines.once("close", resolve));
  }
}

/** Describes the exit for error messages. */
export function describeExit(exit: Exit): string {
  return exit.signal === null ? `exited with code ${exit.code}` : `was ended by ${exit.signal}`;
}

function environment(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  // Variables for the test runner's Node process, or for the real CLI, must not reach the child.
  const inherited = Object.entries(process.env).filter(
    ([key]) => key !== "NODE_OPTIONS" && !key.startsWith("PULUMI_"),
  );
  return {
    NODE_COMPILE_CACHE: path.join(os.tmpdir(), "fake-engine-compile-cache"),
    ...Object.fromEntries(inherited),
    ...added,
  };
}
