import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type {
  Command,
  ConfigValue,
  DeleteStateOptions,
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
import { type Editable, edit, forget, mark, rename, renameStack } from "./state/edit";
import { manifest, StateFile } from "./state/file";
import { move, type Place } from "./state/move";
import { fromState, type Resource } from "./state/resource";
import { Snapshot } from "./state/snapshot";
import { stackType } from "./state/urn";
import { encodeMap, forProvider, type Values } from "./values/values";
import { addEngineService } from "./wire/engine-service";
import { serve } from "./wire/serve";

export interface FakeStackOptions extends StackOptions {
  /** The checkpoint. @default where the CLI has it in the folder of `backendUrl` */
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
  readonly backendUrl: string;
  /** The folder of a backend that only this stack has. */
  readonly #folder: string | undefined;
  #name: string;
  #state: StateFile;
  #config: StackConfig;
  #running: { end: Promise<unknown>; interrupt: () => void } | undefined;

  constructor(private readonly options: FakeStackOptions) {
    const { stateFile, backendUrl, project, stack } = options;
    const isShared = stateFile !== undefined || backendUrl !== undefined;
    this.#folder = isShared ? undefined : fs.mkdtempSync(path.join(os.tmpdir(), "fake-engine-"));
    this.backendUrl = backendUrl ?? pathToFileURL(this.#folder ?? path.dirname(stateFile ?? "")).href;
    this.#name = stack;
    this.#state = this.#stateOf({ project, stack });
    this.#config = this.#configOf(this.#state);
    for (const [key, value] of Object.entries(options.config ?? {})) this.#config.set(key, value);
  }

  async run(command: Command, options: RunOptions = {}): Promise<RunResult> {
    this.#requireUnlocked();
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

  async taint(...urns: string[]): Promise<void> {
    this.#edit((state) => mark(state, urns, { taint: true }));
  }

  async untaint(...urns: string[]): Promise<void> {
    this.#edit((state) => mark(state, urns, { taint: false }));
  }

  async protect(...urns: string[]): Promise<void> {
    this.#edit((state) => mark(state, urns, { protect: true }));
  }

  async unprotect(...urns: string[]): Promise<void> {
    this.#edit((state) => mark(state, urns, { protect: false }));
  }

  async deleteState(urn: string, options: DeleteStateOptions = {}): Promise<void> {
    this.#edit((state) => forget(state, urn, options));
  }

  async renameState(urn: string, name: string): Promise<void> {
    this.#edit((state) => rename(state, urn, name));
  }

  async moveState(urns: readonly string[], destination: Place): Promise<void> {
    this.#requireUnlocked();
    edit([this.#state, this.#stateOf(destination)], (source, there) =>
      move(source, there, urns, destination),
    );
  }

  async rename(name: string): Promise<void> {
    this.#requireUnlocked();
    const [state, config] = [this.#state, this.#config];
    const renamed = this.#stateOf({ project: this.options.project, stack: name });
    if (renamed.file !== state.file && fs.existsSync(renamed.file))
      throw new Error(`a stack named ${name} already exists`);
    edit([state], (editable) => renameStack(editable, this.#name, name));
    renamed.write(state.read());
    if (renamed.file !== state.file) fs.rmSync(state.file);
    this.#name = name;
    this.#state = renamed;
    this.#config = this.#configOf(renamed);
    config.moveTo(this.#config);
  }

  async dispose(): Promise<void> {
    this.#running?.interrupt();
    await this.#running?.end.catch(() => undefined);
    if (this.#folder !== undefined) fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  #requireUnlocked(): void {
    if (this.#running) throw new Error(`the stack ${this.#name} is locked by another command`);
  }

  #edit(change: (state: Editable) => void): void {
    this.#requireUnlocked();
    edit([this.#state], change);
  }

  #stateOf({ project, stack }: Place): StateFile {
    const { organization = "organization", stateFile } = this.options;
    const file =
      stateFile ?? path.join(fileURLToPath(this.backendUrl), ".pulumi/stacks", project, `${stack}.json`);
    return new StateFile(file, { organization, project, stack });
  }

  #configOf({ file }: StateFile): StackConfig {
    return new StackConfig(this.options.configFile ?? `${file}.config`, this.options.project);
  }

  /** What the CLI hands on to program and provider, as far as it is about the backend. */
  #environment(): Record<string, string> {
    const home = path.join(fileURLToPath(this.backendUrl), "home");
    return { PULUMI_BACKEND_URL: this.backendUrl, PULUMI_HOME: home };
  }

  async #run(command: Command, options: RunOptions, disposed: AbortSignal): Promise<RunResult> {
    const {
      dir,
      project: projectName,
      organization = "organization",
      childrenSurvive = false,
    } = this.options;
    const stack = this.#name;
    const dryRun = command === "preview" || options.previewOnly === true;
    const parallel = options.parallel ?? os.availableParallelism() * 4;
    const project = readProject(dir);
    const env = { ...this.#environment(), ...this.options.env, ...options.env };
    const snapshot = new Snapshot(this.#state, dryRun, isTruthy(env.PULUMI_SKIP_CHECKPOINTS));
    const before = outputsOf(snapshot.base);
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
    const program = {
      ...shared,
      organization,
      stack,
      dryRun,
      parallel,
      env: { ...this.#config.environment(), ...env },
    };
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

function isTruthy(setting: string | undefined): boolean {
  return setting === "1" || setting?.toLowerCase() === "true";
}

function outputsOf(resources: readonly Resource[]): Values {
  return resources.find((resource) => resource.type === stackType)?.outputs ?? {};
}
