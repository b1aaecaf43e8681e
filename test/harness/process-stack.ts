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

/** A command that has ended, and what it said. */
interface Ended {
  /** None where a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** A command at work. */
interface Running {
  readonly ended: Promise<Ended>;
  /** Sends a signal to the engine, as a terminal does at Ctrl-C. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal to the engine and all that it has started, as a CI runner does. */
  signalAll(signal: NodeJS.Signals): Promise<void>;
}

interface How {
  /** Options of the command, `["--target", urn]`. */
  readonly args?: readonly string[];
  /** Added to the environment of the engine. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Stack `dev` of project `scenario`, whose commands are processes of their own: they can be sent signals. */
export interface ProcessStack {
  readonly emulator: Emulator;
  /** Starts a command on a machine of that name, with a journal of its own, from a folder that is not the program's. */
  start(command: "up" | "destroy", machine?: string, how?: How): Running;
  /** Runs `npx pulumi-cloudinfra recover` on a machine. */
  recover(machine: string): Promise<Ended>;
  /** The names of the files in a machine's journal. */
  journal(machine?: string): string[];
  /** How many processes serve dynamic resources now. */
  providers(): Promise<number>;
  /** Renames the stack: `pulumi stack rename`. */
  rename(name: string): Promise<void>;
  /** Takes away the lock that a command has left that was killed. */
  unlock(): Promise<void>;
  state(): Deployment;
  /** When the service has answered the next request of that method and path. */
  answered(method: string, path: string): Promise<void>;
}

/** The engines that can be run so. */
export const processEngines: readonly ("fake" | "pulumi")[] = pulumiOnPath() ? ["fake", "pulumi"] : ["fake"];

/** Opens a stack. All of it, and all that it has started, is gone after the test. */
export async function processStack(engine: "fake" | "pulumi", program: string): Promise<ProcessStack> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-processes-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const { dir, remove } = programFolder(program);
  onTestFinished(remove);
  const commands: Promise<Ended>[] = [];
  // Before the folders go: such hooks run from the last to the first.
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
    CLOUDINFRA_JOURNAL_DIR: journalOf(machine), // `root` stands in it, by which all that is started is found
  });
  const elsewhere = path.join(root, "elsewhere");
  mkdirSync(elsewhere);
  const run: Place["run"] = (machine, file, args, env = {}) => {
    const log = path.join(root, `command-${commands.length}.log`);
    const said = openSync(log, "w"); // a file: what outlives the command may hold a pipe open
    const child = spawn(file, args, {
      cwd: elsewhere,
      env: { ...environment(machine), ...env },
      stdio: ["ignore", said, said],
    });
    closeSync(said);
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

interface Place {
  readonly dir: string;
  readonly root: string;
  readonly emulator: Emulator;
  readonly run: (
    machine: string | undefined,
    file: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ) => Running;
}

type Own = Pick<ProcessStack, "start" | "state" | "unlock" | "rename"> & {
  /** Options with which `recover` finds the stack. */
  exported(): string[];
};

async function fake({ dir, root, emulator, run }: Place): Promise<Own> {
  const file = path.join(root, "state.json");
  const config = { "cloudinfra:endpoint": emulator.endpoint, "cloudinfra:token": { secret: emulator.token } };
  const place = { dir, project: "scenario", stateFile: file };
  let stack = "dev";
  new FakeStack({ ...place, stack, config });
  const tsx = pathToFileURL(require.resolve("tsx")).href; // in the process itself: its own command would start another
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
    unlock: async () => {}, // it has no lock
    exported: () => {
      const written = path.join(root, "export.json");
      writeFileSync(written, JSON.stringify({ version: 3, deployment: state() }));
      return ["--file", written];
    },
  };
}

async function real({ dir, root, emulator, run }: Place): Promise<Own> {
  const pulumi = (machine: string | undefined, args: readonly string[], env?: How["env"]): Running => {
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
