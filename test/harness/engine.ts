/**
 * What a scenario asks of an engine. Two implementations: the fake in `test/engine`, and the real CLI through
 * the Automation API. A scenario must not be able to tell which one it runs on.
 */

export interface Engine {
  readonly name: "fake" | "pulumi";
  open(options: StackOptions): Promise<Stack>;
}

export interface StackOptions {
  /** The program's folder: Pulumi.yaml, package.json, index.js or index.ts, and a node_modules that resolves. */
  dir: string;
  project: string;
  stack: string;
  /** Keys with their namespace, `cloudinfra:endpoint`. */
  config?: Readonly<Record<string, ConfigValue>>;
  /**
   * Added to the environment of everything the engine starts, for every command. `PULUMI_SKIP_CHECKPOINTS: "1"` makes
   * the engine write the state only at the end of a command.
   */
  env?: Readonly<Record<string, string>>;
  /**
   * URL of the folder with the states, as the CLI spells it: `file:///…`. Pass that of another stack to open one in
   * the same backend. @default a backend that no other stack has
   */
  backendUrl?: string;
  /**
   * The stack's organization. With a file backend, the CLI accepts no other than the default; the fake does.
   * @default "organization"
   */
  organization?: string;
  /** Told of all that is said while commands run, as it is said, debug messages included. */
  overhear?: (where: string, text: string) => void;
}

export interface DeleteStateOptions {
  /** Removes a protected resource, too. */
  force?: boolean;
  /** Removes everything that depends on the resource, too. */
  targetDependents?: boolean;
}

export type ConfigValue = string | { readonly secret: string };

export type Command = "preview" | "up" | "refresh" | "destroy";

export interface RunOptions {
  /** URNs; nothing else is touched. */
  target?: readonly string[];
  targetReplace?: readonly string[];
  targetDependents?: boolean;
  /** URNs to replace; unlike `targetReplace` the rest of the program is run as usual. */
  replace?: readonly string[];
  /** Refresh before preview, up or destroy. */
  refresh?: boolean;
  continueOnError?: boolean;
  /** Run the program for refresh and destroy too, and so use today's configuration instead of the stored one. */
  runProgram?: boolean;
  /** Resource operations at the same time. @default 4 × the machine's cores, as the CLI */
  parallel?: number;
  env?: Readonly<Record<string, string>>;
  /** Show secret values in `output` instead of `[secret]`. */
  showSecrets?: boolean;
  /** Only what would be done, for refresh and destroy. */
  previewOnly?: boolean;
  excludeProtected?: boolean;
  /** Interrupts like the first Ctrl-C: what is in flight ends by itself, nothing new starts. */
  signal?: AbortSignal;
  /** Every event as it happens, for a display. */
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
  /** Top-level input keys that differ. */
  diffs?: readonly string[];
  /** Properties that force the replacement. */
  replaces?: readonly string[];
  /** Every place that differs, where the engine compared the inputs: `{ "labels.env": "update" }`. */
  detailed?: Readonly<Record<string, "add" | "delete" | "update">>;
}

/** What a step makes of a resource, as the engine shows it: a secret hidden (`hidesSecret`), an unknown spelt `UNKNOWN`. */
export interface Shown {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** How an unknown value is spelt. */
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
  /** What a person saw, without colours. */
  output: string;
  /**
   * Steps that were begun, in that order, also where they failed; without those of default providers. A step of the
   * command `refresh` has what it came to as its op.
   */
  steps: readonly Step[];
  /** How many resources by what was done: `{ create: 2, update: 1, same: 4, replace: 1 }`. */
  changes: Readonly<Record<string, number>>;
  diagnostics: readonly Diagnostic[];
  /** Stack outputs after the command, secrets in clear. */
  outputs: Readonly<Record<string, unknown>>;
}

export interface Stack {
  run(command: Command, options?: RunOptions): Promise<RunResult>;
  /** The state as `pulumi stack export --show-secrets` writes it. */
  deployment(): Promise<Deployment>;
  setConfig(key: string, value: ConfigValue): Promise<void>;
  removeConfig(key: string): Promise<void>;
  import(deployment: Deployment): Promise<void>;
  /** Makes the next `up` replace the resources: `pulumi state taint`. */
  taint(...urns: string[]): Promise<void>;
  untaint(...urns: string[]): Promise<void>;
  /** Protects the resources in the state until the next `up`: `pulumi state protect`. */
  protect(...urns: string[]): Promise<void>;
  unprotect(...urns: string[]): Promise<void>;
  /** Removes a resource from the state, and nowhere else: `pulumi state delete`. */
  deleteState(urn: string, options?: DeleteStateOptions): Promise<void>;
  /** Gives a resource in the state another name: `pulumi state rename`. */
  renameState(urn: string, name: string): Promise<void>;
  /** Moves resources and their children to another stack in the same backend: `pulumi state move`. */
  moveState(urns: readonly string[], destination: { project: string; stack: string }): Promise<void>;
  /** Renames the stack: `pulumi stack rename`. */
  rename(name: string): Promise<void>;
  /** Where the state is: what the CLI hands on as `PULUMI_BACKEND_URL`. */
  readonly backendUrl: string;
  /** Folder of all that the engine keeps, where it keeps secrets encrypted. */
  readonly kept?: string;
  /** Ends everything the stack started and removes what the engine keeps of it; the program's folder stays. */
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
