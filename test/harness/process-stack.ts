import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { findMarked, killMarked } from "../../demo/leftovers";
import { type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import { FakeStack } from "../engine/stack";
import type { Deployment } from "./engine";
import { REPOSITORY } from "./modules";
import { programFolder } from "./program";
import { isolatedEnvironment, pulumiOnPath } from "./pulumi-environment";

/** The result of a command. */
interface CommandResult {
  /** Exit code, or null if a signal ended the command. */
  readonly code: number | null;
  readonly output: string;
}

/** A running command. */
interface RunningCommand {
  readonly ended: Promise<CommandResult>;
  /** Sends a signal to the engine's process only. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal to the engine and all processes that it has started, as a CI runner does. */
  signalAll(signal: NodeJS.Signals): Promise<void>;
}

interface CommandOptions {
  /** Options of the command, for example `["--target", urn]`. */
  readonly args?: readonly string[];
  /** Environment variables of the engine. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Stack `dev` of project `scenario`. Each command is a process of its own, so that a test can send signals to it. */
export interface ProcessStack {
  readonly emulator: Emulator;
  /** Starts a command from a folder that isn't the program's. Each machine has its own journal. */
  start(command: "up" | "destroy", machine?: string, options?: CommandOptions): RunningCommand;
  /** Runs `npx pulumi-cloudinfra recover` with the journal of a machine. */
  recover(machine: string): Promise<CommandResult>;
  /** The names of the files in a machine's journal. */
  journal(machine?: string): string[];
  /** The number of running provider processes. */
  providers(): Promise<number>;
  /** Renames the stack: `pulumi stack rename`. */
  rename(name: string): Promise<void>;
  /** Removes the lock of a killed command. */
  unlock(): Promise<void>;
  state(): Deployment;
  /** Waits until the service has answered the next request with this method and path. */
  answered(method: string, path: string): Promise<void>;
}

/** The available engines, by name. */
export const processEngines: readonly ("fake" | "pulumi")[] = pulumiOnPath() ? ["fake", "pulumi"] : ["fake"];

/** Opens a stack. After the test, its processes are killed and its files are removed. */
export async function processStack(engine: "fake" | "pulumi", program: string): Promise<ProcessStack> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-processes-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const { dir, remove } = programFolder(program);
  onTestFinished(remove);
  const commands: Promise<CommandResult>[] = [];
  // Hooks run in reverse order, so this one runs before the folders are removed.
  onTestFinished(async () => {
    await killMarked(root);
    await Promise.all(commands);
  });
  const answers = new EventTarget();
  const onRequest = ({ method, path }: LoggedRequest) =>
    void answers.dispatchEvent(new Event(`${method} ${path}`));
  const emulator = await startEmulator({ behaviour: { operationMs: 100 }, onRequest });
  onTestFinished(() => emulator.stop());
  const journalOf = (machine = "first"): string => path.join(root, machine);
  const journal = (machine?: string): string[] =>
    existsSync(journalOf(machine)) ? readdirSync(journalOf(machine)) : [];
  const environment = (machine?: string) => ({
    ...process.env,
    ...isolatedEnvironment(root),
    CLOUDINFRA_JOURNAL_DIR: journalOf(machine), // contains `root`, by which findMarked finds the processes
  });
  const elsewhere = path.join(root, "elsewhere");
  mkdirSync(elsewhere);
  const run: EngineContext["run"] = (machine, file, args, env = {}) => {
    const log = path.join(root, `command-${commands.length}.log`);
    const logFile = openSync(log, "w"); // not a pipe, which a process that outlives the command could keep open
    const child = spawn(file, args, {
      cwd: elsewhere,
      env: { ...environment(machine), ...env },
      stdio: ["ignore", logFile, logFile],
    });
    closeSync(logFile);
    const ended = once(child, "exit").then(([code]) => ({ code, output: readFileSync(log, "utf8") }));
    commands.push(ended);
    return {
      ended,
      signal: (signal) => void child.kill(signal),
      signalAll: async (signal) => {
        for (const { pid } of await findMarked(root)) sendTo(pid, signal);
      },
    };
  };
  const { start, exported, unlock, rename, state } = await (engine === "fake" ? fake : real)({
    dir,
    root,
    emulator,
    run,
  });
  const recover: ProcessStack["recover"] = (machine) => {
    const command = [path.join(REPOSITORY, "dist/cli/main.js"), "recover", "--cwd", dir];
    return run(machine, process.execPath, [...command, ...exported()]).ended;
  };
  const answered = async (method: string, path: string): Promise<void> => {
    await once(answers, `${method} ${path}`);
  };
  const providers = async (): Promise<number> =>
    (await findMarked(root)).filter(({ command }) => /^\S*node .*\/dynamic-provider/.test(command)).length;
  return { emulator, start, recover, journal, providers, rename, unlock, state, answered };
}

interface EngineContext {
  readonly dir: string;
  readonly root: string;
  readonly emulator: Emulator;
  readonly run: (
    machine: string | undefined,
    file: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ) => RunningCommand;
}

type EngineCommands = Pick<ProcessStack, "start" | "state" | "unlock" | "rename"> & {
  /** Options that pass the stack's state to `recover`. */
  exported(): string[];
};

async function fake({ dir, root, emulator, run }: EngineContext): Promise<EngineCommands> {
  const file = path.join(root, "state.json");
  const config = { "cloudinfra:endpoint": emulator.endpoint, "cloudinfra:token": { secret: emulator.token } };
  const place = { dir, project: "scenario", stateFile: file };
  let stack = "dev";
  new FakeStack({ ...place, stack, config });
  const tsx = pathToFileURL(require.resolve("tsx")).href; // The tsx command would start another process.
  const main = ["--import", tsx, path.join(REPOSITORY, "test/engine/main.ts")];
  const state = () => checkpoint(file);
  return {
    start: (command, machine, { args = [], env = {} } = {}) => {
      const where = ["--dir", dir, "--stack", stack, "--state", file];
      return run(machine, process.execPath, [...main, command, ...where, ...args], env);
    },
    rename: async (name) => {
      await new FakeStack({ ...place, stack }).rename(name);
      stack = name;
    },
    state,
    unlock: async () => {}, // The fake engine has no lock.
    exported: () => {
      const written = path.join(root, "export.json");
      writeFileSync(written, JSON.stringify({ version: 3, deployment: state() }));
      return ["--file", written];
    },
  };
}

async function real({ dir, root, emulator, run }: EngineContext): Promise<EngineCommands> {
  const pulumi = (
    machine: string | undefined,
    args: readonly string[],
    env?: CommandOptions["env"],
  ): RunningCommand => {
    const whole = ["-C", dir, ...args, "--non-interactive", "--color", "never"];
    return run(machine, pulumiOnPath() ?? "pulumi", whole, env);
  };
  let stack = "dev";
  const done = async (...args: string[]): Promise<void> => {
    const { code, output } = await pulumi(undefined, args).ended;
    if (code !== 0) throw new Error(`pulumi ${args.join(" ")} ended with ${code}:\n${output}`);
  };
  await done("stack", "init", stack);
  const plain = ["--plaintext", `cloudinfra:endpoint=${emulator.endpoint}`];
  await done("config", "set-all", ...plain, "--secret", `cloudinfra:token=${emulator.token}`);
  return {
    start: (command, machine, { args = [], env = {} } = {}) =>
      pulumi(machine, [command, "--yes", "--skip-preview", ...args], env),
    rename: async (name) => {
      await done("stack", "rename", name);
      stack = name;
    },
    state: () => checkpoint(path.join(root, "state/.pulumi/stacks/scenario", `${stack}.json`)),
    unlock: () => done("cancel", "--yes"),
    exported: () => [],
  };
}

function checkpoint(file: string): Deployment {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")).checkpoint?.latest ?? {}) : {};
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
