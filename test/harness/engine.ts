/**
 * The interface between scenarios and engines. There are two implementations: the fake engine in `test/engine`, and the
 * real CLI through the Automation API. Both behave the same in every scenario.
 */

export interface Engine {
  readonly name: "fake" | "pulumi";
  open(options: StackOptions): Promise<Stack>;
}

export interface StackOptions {
  /** The program's folder, with Pulumi.yaml, package.json, index.js or index.ts, and node_modules. */
  dir: string;
  project: string;
  stack: string;
  /** Keys with their namespace, for example `cloudinfra:endpoint`. */
  config?: Readonly<Record<string, ConfigValue>>;
  /**
   * Environment variables for every process that the engine starts. With `PULUMI_SKIP_CHECKPOINTS: "1"`, the engine
   * writes the state only at the end of a command.
   */
  env?: Readonly<Record<string, string>>;
  /**
   * URL of the folder that contains the states, in the CLI's format: `file:///…`. Pass another stack's URL to open a
   * stack in the same backend. @default a backend of its own
   */
  backendUrl?: string;
  /**
   * The stack's organization. With a file backend, the CLI accepts only the default. The fake engine accepts any name.
   * @default "organization"
   */
  organization?: string;
  /** Receives the output and events of each command as they occur, including debug messages. */
  overhear?: (where: string, text: string) => void;
}

export interface DeleteStateOptions {
  /** Deletes the resource even if it is protected. */
  force?: boolean;
  /** Deletes the resource's dependents, too. */
  targetDependents?: boolean;
}

export type ConfigValue = string | { readonly secret: string };

export type Command = "preview" | "up" | "refresh" | "destroy";

export interface RunOptions {
  /** URNs of the only resources to change. */
  target?: readonly string[];
  targetReplace?: readonly string[];
  targetDependents?: boolean;
  /** URNs to replace. Unlike `targetReplace`, the command also applies the program's other changes. */
  replace?: readonly string[];
  /** Refresh before a preview, `up` or destroy. */
  refresh?: boolean;
  continueOnError?: boolean;
  /** Run the program for refresh and destroy too, which then use the current configuration instead of the stored one. */
  runProgram?: boolean;
  /** Maximum number of concurrent resource operations. @default 4 × the number of cores, as in the CLI */
  parallel?: number;
  env?: Readonly<Record<string, string>>;
  /** Show secret values in `output` instead of `[secret]`. */
  showSecrets?: boolean;
  /** Show what refresh or destroy would do, without doing it. */
  previewOnly?: boolean;
  excludeProtected?: boolean;
  /** Interrupts the command as the first Ctrl-C does: running operations finish, and no others start. */
  signal?: AbortSignal;
  /** Receives each event as it occurs. */
  onEvent?: (event: EngineEvent) => void;
}

export type StepOp =
  | "same"
  | "create"
  | "update"
  | "delete"
  | "replace"
  | "create-replacement"
  | "delete-replaced"
  | "discard-replaced"
  | "remove-pending-replace"
  | "read"
  | "read-replacement"
  | "read-discard"
  | "refresh"
  | "import";

export interface Step {
  op: StepOp;
  urn: string;
  name: string;
  type: string;
  /** Names of the top-level inputs that differ. */
  diffs?: readonly string[];
  /** Properties that require the replacement. */
  replaces?: readonly string[];
  /** Path and kind of each difference, if the engine compared the inputs: `{ "labels.env": "update" }`. */
  detailed?: Readonly<Record<string, "add" | "delete" | "update">>;
}

/** A resource after a step, as the engine shows it: secrets are hidden (`hidesSecret`), unknown values are `UNKNOWN`. */
export interface Shown {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** The string that represents an unknown value. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

export interface Diagnostic {
  severity: "debug" | "info" | "info#err" | "warning" | "error";
  message: string;
  urn?: string;
  ephemeral?: boolean;
}

export type EngineEvent =
  | ({ kind: "step-started" } & Step)
  | ({ kind: "step-done"; initErrors?: readonly string[]; shown?: Shown } & Step)
  | ({ kind: "step-failed" } & Step)
  | ({ kind: "diagnostic" } & Diagnostic);

export interface RunResult {
  ok: boolean;
  /** The command's output, without colors. */
  output: string;
  /**
   * Steps in the order in which they started, including failed ones, without those of default providers. In a refresh,
   * the op of a step is its result, for example `update`.
   */
  steps: readonly Step[];
  /** The number of resources for each kind of change: `{ create: 2, update: 1, same: 4, replace: 1 }`. */
  changes: Readonly<Record<string, number>>;
  diagnostics: readonly Diagnostic[];
  /** Stack outputs after the command, with secrets in plaintext. */
  outputs: Readonly<Record<string, unknown>>;
}

export interface Stack {
  run(command: Command, options?: RunOptions): Promise<RunResult>;
  /** Exports the state, as `pulumi stack export --show-secrets` does. */
  deployment(): Promise<Deployment>;
  setConfig(key: string, value: ConfigValue): Promise<void>;
  removeConfig(key: string): Promise<void>;
  import(deployment: Deployment): Promise<void>;
  /** Marks resources so that the next `up` replaces them: `pulumi state taint`. */
  taint(...urns: string[]): Promise<void>;
  untaint(...urns: string[]): Promise<void>;
  /** Protects resources in the state until the next `up`: `pulumi state protect`. */
  protect(...urns: string[]): Promise<void>;
  unprotect(...urns: string[]): Promise<void>;
  /** Removes a resource from the state, without deleting its object: `pulumi state delete`. */
  deleteState(urn: string, options?: DeleteStateOptions): Promise<void>;
  /** Renames a resource in the state: `pulumi state rename`. */
  renameState(urn: string, name: string): Promise<void>;
  /** Moves resources and their children to another stack in the same backend: `pulumi state move`. */
  moveState(urns: readonly string[], destination: { project: string; stack: string }): Promise<void>;
  /** Renames the stack: `pulumi stack rename`. */
  rename(name: string): Promise<void>;
  /** URL of the backend, which the CLI passes to its processes as `PULUMI_BACKEND_URL`. */
  readonly backendUrl: string;
  /** The folder in which the engine keeps its files, if it encrypts secrets there. */
  readonly kept?: string;
  /** Stops everything that the stack started, and removes the engine's files, but not the program's folder. */
  dispose(): Promise<void>;
}

export interface Deployment {
  manifest?: { time: string; magic: string; version: string };
  secrets_providers?: { type: string; state?: unknown };
  resources?: readonly StateResource[];
  pending_operations?: readonly PendingOperation[];
  metadata?: Readonly<Record<string, unknown>>;
}

export interface PendingOperation {
  resource: StateResource;
  type: "creating" | "updating" | "deleting" | "reading" | "importing";
}

export interface StateResource {
  urn: string;
  custom: boolean;
  type: string;
  id?: string;
  /** A secret value is `{ "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", plaintext: <JSON text> }`. */
  inputs?: Readonly<Record<string, unknown>>;
  outputs?: Readonly<Record<string, unknown>>;
  parent?: string;
  provider?: string;
  dependencies?: readonly string[];
  propertyDependencies?: Readonly<Record<string, readonly string[]>>;
  delete?: boolean;
  pendingReplacement?: boolean;
  initErrors?: readonly string[];
  protect?: boolean;
  external?: boolean;
  retainOnDelete?: boolean;
  taint?: boolean;
  additionalSecretOutputs?: readonly string[];
  ignoreChanges?: readonly string[];
  replaceOnChanges?: readonly string[];
  customTimeouts?: { create?: number; update?: number; delete?: number };
  aliases?: readonly string[];
  deletedWith?: string;
  replaceWith?: readonly string[];
  created?: string;
  modified?: string;
  sourcePosition?: string;
}
