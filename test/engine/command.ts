import os from "node:os";
import type { Command, RunOptions, RunResult } from "../harness/engine";
import type { StackConfig } from "./config";
import { Deployment } from "./deployment";
import { Executor } from "./executor";
import { readProject } from "./processes/project";
import { Providers } from "./providers";
import { Reporter } from "./reporter";
import type { Run } from "./run";
import type { FakeStackOptions } from "./stack";
import type { StateFile } from "./state/file";
import type { Resource } from "./state/resource";
import { Snapshot } from "./state/snapshot";
import { stackType } from "./state/urn";
import { encodeMap, forProvider, type Values } from "./values/values";
import { addEngineService } from "./wire/engine-service";
import { serve } from "./wire/serve";

/** The stack that a command works on. */
export interface Place {
  readonly options: FakeStackOptions;
  readonly stack: string;
  readonly state: StateFile;
  readonly config: StackConfig;
  /** Environment variables that the engine adds for its child processes. */
  readonly env: Readonly<Record<string, string>>;
}

/** Runs one command to its end. The result reports failures. */
export async function runCommand(
  { options: settings, stack, state, config, env: engineEnv }: Place,
  command: Command,
  options: RunOptions,
  disposed: AbortSignal,
): Promise<RunResult> {
  const { dir, project: projectName, organization = "organization", childrenSurvive = false } = settings;
  const dryRun = command === "preview" || options.previewOnly === true;
  const parallel = options.parallel ?? os.availableParallelism() * 4;
  const project = readProject(dir);
  const env = { ...engineEnv, ...settings.env, ...options.env };
  const snapshot = new Snapshot(state, dryRun, isTruthy(env.PULUMI_SKIP_CHECKPOINTS));
  const before = outputsOf(snapshot.base);
  const reporter = new Reporter({
    ...{ command, dryRun, stack, project: projectName, showSecrets: options.showSecrets ?? false },
    onEvent: (event) => options.onEvent?.(event),
    onLine: (line) => settings.onLine?.(line),
    overhear: settings.overhear,
  });
  const engine = await serve((server) =>
    addEngineService(server, (diagnostic) => reporter.diagnose(diagnostic)),
  );
  const shared = {
    ...{ project, projectName, engineAddress: engine.address, survivesEngine: childrenSurvive },
    onLine: (stream: "stdout" | "stderr", message: string) =>
      reporter.diagnose({ severity: stream === "stdout" ? "info" : "info#err", message }),
  };
  const providers = new Providers({ ...shared, env }, snapshot, dryRun);
  const executor = new Executor(parallel, options.continueOnError ?? false);
  const continueOnError = options.continueOnError ?? false;
  const run: Run = {
    project: projectName,
    stack,
    dryRun,
    continueOnError,
    snapshot,
    providers,
    reporter,
    executor,
    deletions: new Set(),
  };
  const program = {
    ...shared,
    organization,
    stack,
    dryRun,
    parallel,
    env: { ...config.environment(), ...env },
  };
  const deployment = new Deployment(run, {
    command,
    options,
    config,
    parallel,
    program,
  });
  const interrupt = () => deployment.interrupt();
  const signals = [disposed, ...(options.signal ? [options.signal] : [])];
  for (const signal of signals) {
    if (signal.aborted) interrupt();
    else signal.addEventListener("abort", interrupt, { once: true });
  }
  try {
    const ok = await deployment.execute();
    const after = outputsOf(snapshot.resources());
    const forgotten = snapshot.resources().length === 0;
    const outputs = encodeMap(dryRun ? before : after, forProvider);
    return { ok, ...reporter.finish({ ok, oldOutputs: before, newOutputs: after, forgotten }), outputs };
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", interrupt);
    await providers.close();
    engine.close();
  }
}

function isTruthy(setting: string | undefined): boolean {
  return setting === "1" || setting?.toLowerCase() === "true";
}

function outputsOf(resources: readonly Resource[]): Values {
  return resources.find((resource) => resource.type === stackType)?.outputs ?? {};
}
