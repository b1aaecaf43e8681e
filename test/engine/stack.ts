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
import { type Place, runCommand } from "./command";
import { StackConfig } from "./config";
import { type Editable, edit, forget, mark, rename, renameStack } from "./state/edit";
import { manifest, StateFile } from "./state/file";
import { type Destination, move } from "./state/move";
import { fromState } from "./state/resource";

export interface FakeStackOptions extends StackOptions {
  /** The checkpoint file. @default the CLI's location in the folder of `backendUrl` */
  stateFile?: string;
  /** @default next to the state */
  configFile?: string;
  /** Lets the program and the provider survive if the engine is killed, as under the real CLI. @default false */
  childrenSurvive?: boolean;
  /** Called with each displayed line. */
  onLine?: (line: string) => void;
}

/** One stack of the fake engine. It runs one command at a time, and keeps its state in a file. */
export class FakeStack implements Stack {
  readonly backendUrl: string;
  /** The folder of a backend for this stack only. */
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
    const end = runCommand(this.#place(), command, options, aborted.signal);
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

  async moveState(urns: readonly string[], destination: Destination): Promise<void> {
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

  #stateOf({ project, stack }: Destination): StateFile {
    const { organization = "organization", stateFile } = this.options;
    const file =
      stateFile ?? path.join(fileURLToPath(this.backendUrl), ".pulumi/stacks", project, `${stack}.json`);
    return new StateFile(file, { organization, project, stack });
  }

  #configOf({ file }: StateFile): StackConfig {
    return new StackConfig(this.options.configFile ?? `${file}.config`, this.options.project);
  }

  #place(): Place {
    const home = path.join(fileURLToPath(this.backendUrl), "home");
    const env = { PULUMI_BACKEND_URL: this.backendUrl, PULUMI_HOME: home };
    return { options: this.options, stack: this.#name, state: this.#state, config: this.#config, env };
  }
}
