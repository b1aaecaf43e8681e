import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type {
  Command,
  ConfigValue,
  RunOptions,
  RunResult,
  Stack,
  StackOptions,
  Deployment as State,
} from "../harness/engine";
import { StackConfig } from "./config";
import { Deployment } from "./deployment";
import { Executor } from "./executor";
import { readProject } from "./processes/project";
import { Providers } from "./providers";
import { Reporter } from "./reporter";
import type { Run } from "./run";
import { manifest, StateFile } from "./state/file";
import { fromState, type Resource } from "./state/resource";
import { Snapshot } from "./state/snapshot";
import { stackType } from "./state/urn";
import { encodeMap, forProvider, type Values } from "./values/values";
import { addEngineService } from "./wire/engine-service";
import { serve } from "./wire/serve";

export interface FakeStackOptions extends StackOptions {
  /** The checkpoint. @default a file in a temporary folder that goes with the stack */
  stateFile?: string;
  /** @default beside the state */
  configFile?: string;
  /** Lets program and provider outlive an engine that is killed, as under the real CLI. @default false */
  childrenSurvive?: boolean;
  /** Each line that a person sees, as it comes. */
  onLine?: (line: string) => void;
}

/** One stack of the fake engine: commands one at a time, its state in a file. */
export class FakeStack implements Stack {
  readonly #folder: string | undefined;
  readonly #state: StateFile;
  readonly #config: StackConfig;
  #running: { end: Promise<unknown>; interrupt: () => void } | undefined;

  constructor(private readonly options: FakeStackOptions) {
    const { project, stack } = options;
    this.#folder =
      options.stateFile === undefined ? fs.mkdtempSync(path.join(os.tmpdir(), "fake-engine-")) : undefined;
    const stateFile = options.stateFile ?? path.join(this.#folder ?? "", `${stack}.json`);
    this.#state = new StateFile(stateFile, { project, stack });
    this.#config = new StackConfig(options.configFile ?? `${stateFile}.config`, project);
    for (const [key, value] of Object.entries(options.config ?? {})) this.#config.set(key, value);
  }

  async run(command: Command, options: RunOptions = {}): Promise<RunResult> {
    if (this.#running) throw new Error(`the stack ${this.options.stack} is locked by another command`);
    const aborted = new AbortController();
    const end = this.#run(command, options, aborted.signal);
    this.#running = { end, interrupt: () => aborted.abort() };
    try {
      return await end;
    } finally {
      this.#running = undefined;
    }
  }

  async deployment(): Promise<State> {
    return this.#state.read();
  }

  async setConfig(key: string, value: ConfigValue): Promise<void> {
    this.#config.set(key, value);
  }

  async removeConfig(key: string): Promise<void> {
    this.#config.remove(key);
  }

  async import(state: State): Promise<void> {
    for (const resource of state.resources ?? []) fromState(resource);
    this.#state.write({ ...state, manifest: manifest() });
  }

  async dispose(): Promise<void> {
    this.#running?.interrupt();
    await this.#running?.end.catch(() => undefined);
    if (this.#folder !== undefined) fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  async #run(command: Command, options: RunOptions, disposed: AbortSignal): Promise<RunResult> {
    const { dir, stack, project: projectName, childrenSurvive = false } = this.options;
    const dryRun = command === "preview" || options.previewOnly === true;
    const parallel = options.parallel ?? os.availableParallelism() * 4;
    const project = readProject(dir);
    const snapshot = new Snapshot(this.#state, dryRun);
    const before = outputsOf(snapshot.base);
    const env = { ...this.options.env, ...options.env };
    const reporter = new Reporter({
      ...{ command, dryRun, stack, project: projectName, showSecrets: options.showSecrets ?? false },
      onEvent: (event) => options.onEvent?.(event),
      onLine: (line) => this.options.onLine?.(line),
      overhear: this.options.overhear,
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
    const program = { ...shared, stack, dryRun, parallel, env: { ...this.#config.environment(), ...env } };
    const deployment = new Deployment(run, {
      command,
      options,
      config: this.#config,
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
}

function outputsOf(resources: readonly Resource[]): Values {
  return resources.find((resource) => resource.type === stackType)?.outputs ?? {};
}
