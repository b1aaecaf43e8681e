import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Machine } from "./machine";

/** Longer than any command takes. A longer one hangs. */
const LIMIT_MS = 120_000;

/** A finished command. */
export interface Ended {
  readonly words: string;
  readonly code: number | NodeJS.Signals;
  readonly hung: boolean;
  readonly begunAt: string;
  readonly output: string;
  readonly ms: number;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts commands, and records their output. */
export class Commands {
  readonly all: Ended[] = [];
  #started = 0;

  constructor(private readonly logs: string) {}

  start(
    machine: Machine,
    file: string,
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
  ): Running {
    this.#started += 1;
    const log = path.join(this.logs, `command-${this.#started}.log`);
    const output = openSync(log, "w");
    // Write to a file, because nobody reads a pipe after a kill, and a broken pipe could end surviving processes.
    const stdio = ["ignore", output, output] as const;
    const begun = performance.now();
    const begunAt = new Date().toISOString();
    const child = spawn(file, args, {
      cwd: machine.dir,
      env: { ...process.env, ...env, ...machine.env() },
      stdio: [...stdio],
    });
    closeSync(output);
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      void machine.killAll();
    }, LIMIT_MS);
    const end = async (): Promise<Ended> => {
      const [code, signal] = await once(child, "exit");
      clearTimeout(limit);
      const words = [path.basename(file), ...args].join(" ");
      const ms = performance.now() - begun;
      const ended = { words, code: code ?? signal, hung, begunAt, output: readFileSync(log, "utf8"), ms };
      this.all.push(ended);
      return ended;
    };
    return { child, ended: end() };
  }
}
