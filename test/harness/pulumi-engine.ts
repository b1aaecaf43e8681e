import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import * as automation from "@pulumi/pulumi/automation";
import type { ConfigValue, Engine, RunResult, Stack, StackOptions } from "./engine";
import { isolatedEnvironment, pulumiOnPath } from "./pulumi-environment";
import { runCli, runCommand } from "./pulumi-run";

const COMPILE_CACHE = path.join(__dirname, "../../node_modules/.cache/compiled");

/**
 * Runs the real CLI through the Automation API. Each stack has its own home and file backend.
 * Returns undefined if `pulumi` isn't on PATH.
 */
export async function pulumiEngine(): Promise<Engine | undefined> {
  if (!pulumiOnPath()) return undefined;
  let command: Promise<automation.PulumiCommand> | undefined;
  return {
    name: "pulumi",
    open: async (options) => {
      command ??= findCommand();
      return openStack(await command, options);
    },
  };
}

/** Creates the SDK's command, which reads the CLI's version with the environment of this process. */
async function findCommand(): Promise<automation.PulumiCommand> {
  const home = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-pulumi-"));
  const usersHome = process.env.PULUMI_HOME;
  process.env.PULUMI_HOME = home;
  // `get` starts the child synchronously, so no other code observes the changed variable.
  const command = automation.PulumiCommand.get();
  if (usersHome === undefined) delete process.env.PULUMI_HOME;
  else process.env.PULUMI_HOME = usersHome;
  try {
    return await command;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function openStack(pulumiCommand: automation.PulumiCommand, options: StackOptions): Promise<Stack> {
  const root = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-pulumi-"));
  const isolated = isolatedEnvironment(root);
  const backendUrl = options.backendUrl ?? isolated.PULUMI_BACKEND_URL;
  const own = {
    ...isolated,
    PULUMI_BACKEND_URL: backendUrl,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...options.env,
  };
  const removeRoot = (): Promise<void> => rm(root, { recursive: true, force: true, maxRetries: 3 });
  try {
    const stack = await automation.LocalWorkspace.createStack(
      { stackName: stackNameOf(options), workDir: options.dir },
      { pulumiCommand, envVars: asEnvVars(own) },
    );
    // After each command, the SDK reads outputs and history from the CLI, which takes a third of an `up`. Events contain both.
    Object.assign(stack, { outputs: async () => ({}), info: async () => undefined });
    await setAllConfig(stack, options.config ?? {});
    return openedStack(stack, own, { root, removeRoot, backendUrl, options });
  } catch (error) {
    await removeRoot();
    throw error;
  }
}

/** The stack's name for the CLI, which checks the organization only if it is part of the name. */
function stackNameOf({ organization, project, stack }: StackOptions): string {
  return organization === undefined ? stack : `${organization}/${project}/${stack}`;
}

/** The SDK's type doesn't allow `undefined`, but the SDK passes the values to Node, which omits such variables. */
function asEnvVars(variables: Record<string, string | undefined>): Record<string, string> {
  const given: Record<string, string> = {};
  const unset: Record<string, undefined> = {};
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) unset[name] = value;
    else given[name] = value;
  }
  return Object.assign(given, unset);
}

async function setAllConfig(
  stack: automation.Stack,
  config: Readonly<Record<string, ConfigValue>>,
): Promise<void> {
  const entries = Object.entries(config);
  if (entries.length === 0) return;
  await stack.setAllConfig(Object.fromEntries(entries.map(([key, value]) => [key, toCliValue(value)])));
}

function toCliValue(value: ConfigValue): automation.ConfigValue {
  return typeof value === "string" ? { value } : { value: value.secret, secret: true };
}

interface StackContext {
  /** The folder in which the CLI keeps its files. */
  readonly root: string;
  readonly removeRoot: () => Promise<void>;
  readonly backendUrl: string;
  readonly options: StackOptions;
}

function openedStack(
  stack: automation.Stack,
  environment: Record<string, string | undefined>,
  { root, removeRoot, backendUrl, options: { dir, project, overhear } }: StackContext,
): Stack {
  const disposing = new AbortController();
  const running = new Set<Promise<RunResult>>();
  const cli = (...args: string[]): Promise<void> => runCli(args, { cwd: dir, env: environment });
  const editState = (edit: string, ...args: string[]): Promise<void> =>
    cli("state", edit, "--stack", stack.name, "--yes", ...args);
  return {
    run: (command, options = {}) => {
      const secrets = options.showSecrets ? { PULUMI_OPTION_SHOW_SECRETS: "true" } : {};
      stack.workspace.envVars = asEnvVars({ ...environment, ...secrets, ...options.env });
      const run = runCommand(stack, command, options, { disposing: disposing.signal, overhear });
      running.add(run);
      const forget = (): boolean => running.delete(run);
      run.then(forget, forget);
      return run;
    },
    deployment: async () => (await stack.exportStack()).deployment ?? {},
    setConfig: (key, value) => stack.setConfig(key, toCliValue(value)),
    removeConfig: (key) => stack.removeConfig(key),
    import: (deployment) => stack.importStack({ version: 3, deployment }),
    taint: (...urns) => editState("taint", ...urns),
    untaint: (...urns) => editState("untaint", ...urns),
    protect: (...urns) => editState("protect", ...urns),
    unprotect: (...urns) => editState("unprotect", ...urns),
    deleteState: (urn, { force, targetDependents } = {}) =>
      editState(
        ...["delete", urn],
        ...(force ? ["--force"] : []),
        ...(targetDependents ? ["--target-dependents"] : []),
      ),
    renameState: (urn, name) => editState("rename", urn, name),
    moveState: (urns, destination) => {
      const from = `organization/${project}/${stack.name}`;
      const to = `organization/${destination.project}/${destination.stack}`;
      return cli("state", "move", "--source", from, "--dest", to, "--yes", ...urns);
    },
    rename: async (name) => {
      await stack.rename({ stackName: name });
    },
    backendUrl,
    kept: root,
    dispose: async () => {
      disposing.abort();
      await Promise.allSettled(running);
      await removeRoot();
    },
  };
}
