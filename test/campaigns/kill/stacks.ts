import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { FakeStack } from "../../engine/stack";
import type { Deployment, StateResource } from "../../harness/engine";
import { REPOSITORY } from "../../harness/modules";
import { isolatedEnvironment, pulumiOnPath } from "../../harness/pulumi-environment";
import { MOST_VERBOSE } from "../../harness/watched-stack";
import type { Commands, Ended, Running } from "./commands";
import type { Machine } from "./machine";

interface Service {
  readonly endpoint: string;
  readonly token: string;
}

/** The options of a command. */
export interface How {
  /** The URNs that the command is limited to. */
  readonly targets?: readonly string[];
  /** Whether the engine writes the state only at the end of the command. */
  readonly skipsCheckpoints?: boolean;
}

function optionsOf({ targets = [] }: How): string[] {
  return targets.flatMap((urn) => ["--target", urn]);
}

function settingsOf({ skipsCheckpoints }: How): Record<string, string> {
  return skipsCheckpoints ? { PULUMI_SKIP_CHECKPOINTS: "1" } : {};
}

/** The stack `dev`, which outlives machines. Its commands are processes that can be killed. */
export interface KillableStack {
  /** Creates the stack on its first machine. */
  open(machine: Machine, service: Service): Promise<void>;
  start(machine: Machine, command: "up" | "destroy" | "refresh", how?: How): Running;
  /** Runs `pulumi state taint`, so that the next `up` replaces the resources. */
  taint(machine: Machine, urns: readonly string[]): Promise<void>;
  /** Removes the resources with these ids from the state, as `pulumi state delete` does. */
  forget(machine: Machine, ids: readonly string[]): Promise<void>;
  /** Removes the lock of a killed command. */
  unlock(machine: Machine): Promise<void>;
  /** Runs `npx pulumi-cloudinfra recover`. */
  recover(machine: Machine, ...options: string[]): Promise<Ended>;
  /** Whether `recover` reads an exported file. */
  readonly recoversFromFile: boolean;
  /** Clears the list of pending creations, as `recover` tells users to. */
  clearPending(machine: Machine): Promise<void>;
  /** Returns the current state in the backend. */
  state(): Deployment;
  /** Returns the state with plaintext secrets: `pulumi stack export --show-secrets`. */
  withSecrets(machine: Machine): Promise<Deployment>;
  /** The folder with all files of the engine, if it encrypts secrets. */
  readonly kept?: string;
}

const RECOVER = path.join(REPOSITORY, "dist/cli/main.js");
const STACK_URN = "urn:pulumi:dev::kills::pulumi:pulumi:Stack::kills-dev";

/** Returns a stack on the fake engine. Each command is a process whose children survive it. */
export function fakeStack(root: string, commands: Commands, verbose: boolean): KillableStack {
  const file = path.join(root, "state.json");
  const tsx = pathToFileURL(require.resolve("tsx")).href;
  const main = path.join(REPOSITORY, "test/engine/main.ts");
  const state = (): Deployment => checkpoint(file);
  const env = environment(root);
  const place = { project: "kills", stack: "dev", stateFile: file };
  const opened = ({ dir }: Machine): FakeStack => new FakeStack({ ...place, dir });
  mkdirSync(root, { recursive: true });
  return {
    open: async ({ dir }, { endpoint, token }) => {
      const config = { "cloudinfra:endpoint": endpoint, "cloudinfra:token": { secret: token } };
      new FakeStack({ ...place, dir, config });
    },
    start: (machine, command, how = {}) => {
      const where = ["--dir", machine.dir, "--stack", "dev", "--state", file];
      const args = ["--import", tsx, main, command, ...where, ...optionsOf(how)];
      const settings = { ...env, ...(verbose && MOST_VERBOSE), ...settingsOf(how) };
      return commands.start(machine, process.execPath, args, settings);
    },
    taint: (machine, urns) => opened(machine).taint(...urns),
    forget: async (_machine, ids) => {
      const whole = JSON.parse(readFileSync(file, "utf8"));
      removeResources(whole.checkpoint.latest, ids);
      writeFileSync(file, JSON.stringify(whole));
    },
    unlock: async () => undefined, // the fake engine has no lock
    recover: (machine, ...options) => {
      const exported = path.join(root, "export.json");
      writeFileSync(exported, JSON.stringify({ version: 3, deployment: state() }));
      const args = [RECOVER, "recover", "--file", exported, ...options];
      return commands.start(machine, process.execPath, args, env).ended;
    },
    recoversFromFile: true,
    clearPending: async () => {
      const whole = JSON.parse(readFileSync(file, "utf8"));
      delete whole.checkpoint.latest.pending_operations;
      writeFileSync(file, JSON.stringify(whole));
    },
    state,
    withSecrets: async () => state(),
  };
}

/** Returns a stack on the real CLI, with its own home and file backend. */
export function pulumiStack(root: string, commands: Commands, verbose: boolean): KillableStack {
  const pulumi = pulumiOnPath();
  if (pulumi === undefined) throw new Error("`pulumi` is not on the PATH");
  const env = environment(root);
  const plain = ["--non-interactive", "--color", "never"];
  const start = (machine: Machine, ...args: string[]): Running =>
    commands.start(machine, pulumi, [...args, ...plain], env);
  const loud = { ...env, ...(verbose && MOST_VERBOSE) };
  const done = async (machine: Machine, ...args: string[]): Promise<void> => {
    const { words, code, output } = await start(machine, ...args).ended;
    if (code !== 0) throw new Error(`${words} exited with ${code}:\n${output}`);
  };
  const folder = path.join(root, "state/.pulumi/stacks/kills");
  return {
    open: async (machine, { endpoint, token }) => {
      await done(machine, "stack", "init", "dev");
      await done(
        machine,
        ...["config", "set-all", "--stack", "dev", "--plaintext", `cloudinfra:endpoint=${endpoint}`],
        ...["--secret", `cloudinfra:token=${token}`],
      );
    },
    start: (machine, command, how = {}) => {
      const args = [command, "--yes", "--skip-preview", "--stack", "dev", "--suppress-progress"];
      const settings = { ...loud, ...settingsOf(how) };
      return commands.start(machine, pulumi, [...args, ...optionsOf(how), ...plain], settings);
    },
    taint: (machine, urns) => done(machine, "state", "taint", "--yes", "--stack", "dev", ...urns),
    forget: async (machine, ids) => {
      // If the state also contains a replaced resource with the same URN, `pulumi state delete` prompts for the resource to remove.
      const file = path.join(root, "export.json");
      await done(machine, "stack", "export", "--stack", "dev", "--file", file);
      const whole = JSON.parse(readFileSync(file, "utf8"));
      removeResources(whole.deployment, ids);
      writeFileSync(file, JSON.stringify(whole));
      await done(machine, "stack", "import", "--stack", "dev", "--file", file);
    },
    unlock: async (machine) => {
      moveEmptyAttributes(folder);
      await done(machine, "cancel", "--yes", "--stack", "dev");
    },
    recover: (machine, ...options) => {
      const args = [RECOVER, "recover", "--stack", "dev", ...options];
      return commands.start(machine, process.execPath, args, env).ended;
    },
    recoversFromFile: false,
    clearPending: (machine) => {
      const isEmpty = (checkpoint(path.join(folder, "dev.json")).resources ?? []).length === 0;
      const only = isEmpty ? [] : ["--target", STACK_URN];
      const clear = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", "dev"];
      return done(machine, ...clear, ...only);
    },
    state: () => checkpoint(path.join(folder, "dev.json")),
    withSecrets: async (machine) => {
      const file = path.join(root, "export.json");
      await done(machine, "stack", "export", "--stack", "dev", "--show-secrets", "--file", file);
      const { deployment } = JSON.parse(readFileSync(file, "utf8"));
      rmSync(file);
      return deployment;
    },
    kept: path.join(root, "state"),
  };
}

/** Removes the resources with these ids from a deployment. */
function removeResources(
  deployment: { resources?: readonly StateResource[] | undefined },
  ids: readonly string[],
): void {
  deployment.resources = deployment.resources?.filter(({ id }) => id === undefined || !ids.includes(id));
}

function environment(root: string): Record<string, string | undefined> {
  return {
    ...isolatedEnvironment(root),
    NODE_COMPILE_CACHE: path.join(REPOSITORY, "node_modules/.cache/compiled"),
    ...Object.fromEntries(["TMPDIR", "TMP", "TEMP"].map((name) => [name, temporaryIn(root)])),
  };
}

/** Returns the folder for the temporary files of a stack's commands. */
export function temporaryIn(root: string): string {
  const folder = path.join(root, "temporary");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * A killed CLI can leave an empty attributes file next to the state. Every later command then fails with "failed to
 * load checkpoint: EOF". Moves that file away, as users do.
 */
function moveEmptyAttributes(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name.endsWith(".attrs") && statSync(file).size === 0) renameSync(file, `${file}.empty`);
  }
}

function checkpoint(file: string): Deployment {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, "utf8")).checkpoint?.latest ?? {};
}
