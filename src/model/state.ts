import * as v from "valibot";
import { optional } from "../diagnostics/problem";
import { flag, number, pendingSchema, string, strings, values } from "./pending";
import type { Arguments, Json, RemoteValues } from "./resource-fields";

/** Properties as Pulumi's host passes them: plain JSON of unknown structure. Other modules use typed states. */
export type Properties = Record<string, unknown>;

const json = v.optional(v.unknown());

/** The members of a typed state. Each member has a name in the stored properties, and a schema. */
type Members = Readonly<Record<string, readonly [storedAs: string, schema: v.GenericSchema]>>;

type Parsed<Table extends Members> = {
  readonly [Member in keyof Table]?: v.InferOutput<Table[Member][1]> | undefined;
};

const argumentMembers = {
  name: ["name", string],
  region: ["region", string],
  project: ["project", string],
  image: ["image", string],
  flavor: ["flavor", string],
  network: ["network", string],
  publicIp: ["publicIp", string],
  sshKeys: ["sshKeys", json],
  labels: ["labels", json],
} as const satisfies Record<keyof Arguments, Members[string]>;

const programMembers = {
  urn: ["__urn", string],
  timeouts: ["__timeouts", optional(v.object({ create: string, update: string, delete: string }))],
  secrets: ["__secrets", strings],
  isAutonamed: ["__autonamed", flag],
  /** The stack's organization, if its backend has organizations. */
  organization: ["__organization", string],
  /** The folder of Pulumi's project file, relative to the program's folder, if the two folders differ. */
  projectFolder: ["__projectFolder", string],
} as const satisfies Members;

const inputMembers = {
  /** The key of the resource, which is the idempotency key of its first creation request (§4.7). */
  key: ["__key", string],
  /** The time at which the key was generated, in milliseconds since 1970. The service keeps keys for 24 hours (§4.7). */
  keyAt: ["__keyAt", number],
  importId: ["__import", string],
  /** The code with which Pulumi's host loads the provider. */
  providerText: ["__provider", json],
} as const satisfies Members;

const outputMembers = {
  status: ["status", json],
  createdAt: ["createdAt", json],
  url: ["url", json],
  ipAddress: ["ipAddress", json],
  description: ["description", json],
  additionalProperties: ["additionalProperties", json],
  revision: ["revision", string],
} as const satisfies Members;

const hiddenOutputMembers = {
  endpoint: ["__endpoint", string],
  /** The record of a creation or an update with an unknown outcome. */
  pending: ["__pending", pendingSchema],
  /** Whether only the reply to the creation request has contained the object so far. */
  isEcho: ["__echoed", flag],
  /** The names of properties that depend on the former value of an argument that was secret. */
  formerSecrets: ["__sealed", strings],
  /** The remote values after the last create or update, if they differ from the arguments. */
  remoteValues: ["__words", values],
  /** The applied values, and their remote values, of arguments that another user has changed since then. See `Applied`. */
  applied: ["__applied", values],
  /** Digests of the unmanaged fields when the object was last read. */
  unmanaged: ["__unmanaged", values],
  /** The names of properties that the object's own URL has returned since the last create or update. */
  shown: ["__shown", strings],
  /** Whether the service has returned a label key with its capital letters unchanged. */
  keepsCase: ["__keepsCase", flag],
  /** Whether a field with a common name for the revision has a different meaning, because its value differs from the ETag header. */
  isRevisionInHeader: ["__inHeader", flag],
} as const satisfies Members;

const optionMembers = {
  aliasUrns: ["__aliasUrns", strings],
  ignoreChanges: ["__ignoreChanges", strings],
  replaceOnChanges: ["__replaceOnChanges", strings],
  isRetained: ["__retainOnDelete", flag],
  /** The setting `pulumi:autonaming`: a pattern, or `false` if the program must set names. */
  autonaming: ["__autonaming", json],
} as const satisfies Members;

/** Values that the program sets for a resource in addition to its arguments. The values may change between runs. */
export type ProgramValues = Parsed<typeof programMembers>;

/** Values that the provider stores for a resource in addition to its arguments. */
export interface HiddenInputs extends ProgramValues, Parsed<typeof inputMembers> {
  /** The values that the engine saved, if this run's values differ. The inputs keep them, because Pulumi would display a change. */
  readonly savedValues?: ProgramValues | undefined;
}

export type Outputs = Parsed<typeof outputMembers>;

declare const role: unique symbol;

interface Bag {
  /** The properties that this version of the package doesn't support. */
  readonly unknown?: Readonly<Properties> | undefined;
}

/** The inputs that the program declares for a resource. */
export interface Desired extends Arguments, HiddenInputs, Bag {
  readonly [role]: "desired";
}

/** The values that the program sets. The type prevents the use of a state by mistake. */
export type DesiredArguments = RemoteValues & { readonly [role]?: "desired" };

/** A resource in the state: its applied arguments, and its outputs. */
export interface Recorded extends Arguments, HiddenInputs, Outputs, Parsed<typeof hiddenOutputMembers>, Bag {
  readonly [role]: "recorded";
}

export type RecordedMembers = Partial<Omit<Recorded, typeof role>>;

/** A resource as the program declares it, before it is checked. */
export interface Declared extends Desired, Parsed<typeof optionMembers> {
  /** The arguments as given by the program, which may be misspelled or invalid. */
  readonly given: Readonly<Properties>;
}

export function desired(members: Omit<Desired, typeof role> & { readonly [role]?: never }): Desired {
  return members as Desired;
}

export function recorded(members: Omit<Recorded, typeof role> & { readonly [role]?: never }): Recorded {
  return members as Recorded;
}

const desiredMembers = { ...argumentMembers, ...inputMembers };
const recordedMembers = { ...desiredMembers, ...outputMembers, ...hiddenOutputMembers };
const PROGRAM_VALUES = "__now";

/** Parses the inputs of a resource, from the program or from the state. */
export function parseDesired(bag: Properties): Desired {
  return desired(parseMembers(desiredMembers, bag));
}

export function parseDeclared(bag: Properties): Declared {
  const given = Object.entries(bag).filter(([name]) => !name.startsWith("__"));
  const members = parseMembers({ ...desiredMembers, ...optionMembers }, bag);
  return { ...members, ...desired(members), given: Object.fromEntries(given) };
}

export function parseRecorded(bag: Properties): Recorded {
  return recorded(parseMembers(recordedMembers, bag));
}

function parseMembers<Table extends Members>(table: Table, bag: Properties) {
  const saved = parseTable(programMembers, bag);
  const now = v.safeParse(v.record(v.string(), v.unknown()), bag[PROGRAM_VALUES]);
  const members = {
    ...parseTable(table, bag),
    ...(now.success ? parseTable(programMembers, now.output) : saved),
  };
  const known = storedProperties({ ...table, ...programMembers }, { ...members, ...saved });
  const unknown = Object.entries(bag).filter(
    ([name]) => known[name] === undefined && name !== PROGRAM_VALUES,
  );
  return {
    ...members,
    savedValues: now.success ? saved : undefined,
    unknown: unknown.length === 0 ? undefined : Object.fromEntries(unknown),
  };
}

function parseTable<Table extends Members>(table: Table, bag: Properties): Parsed<Table> {
  const members = Object.entries(table).map(([member, [name, schema]]) => [
    member,
    v.parse(schema, bag[name]),
  ]);
  return Object.fromEntries(members) as Parsed<Table>;
}

/** Converts properties for Pulumi's host, and marks secrets. The engine itself marks only properties whose input is secret. */
export function toBag(state: Desired | Recorded, secrets: readonly string[] = []): Properties {
  const { savedValues } = state;
  const bag = toPlainJson({
    ...state.unknown,
    ...storedProperties(recordedMembers, state),
    ...storedProperties(programMembers, savedValues ?? state),
    ...(savedValues && { [PROGRAM_VALUES]: storedProperties(programMembers, state) }),
  });
  return markSecret(bag, secrets);
}

export function markSecret(bag: Properties, names: readonly string[]): Properties {
  const marked = Object.entries(bag).filter(([name]) => names.includes(name));
  return { ...bag, ...Object.fromEntries(marked.map(([name, value]) => [name, asSecret(value)])) };
}

/** The key and value with which Pulumi marks a value as secret. */
export const SIGNATURE = "4dabf18193072939515e22adb298388d";
export const SECRET = "1b47061264138c4ac30d75fd1eb44270";

function asSecret(value: unknown): unknown {
  return Object(value)[SIGNATURE] === SECRET ? value : { [SIGNATURE]: SECRET, value };
}

function storedProperties(table: Members, members: object): Properties {
  const given: Properties = { ...members };
  const stored = Object.entries(table).map(([member, [name]]) => [name, given[member]] as const);
  return Object.fromEntries(stored.filter(([, value]) => value !== undefined));
}

export function programValuesOf(values: ProgramValues): ProgramValues {
  const { urn, timeouts, secrets, isAutonamed, organization, projectFolder } = values;
  return { urn, timeouts, secrets, isAutonamed, organization, projectFolder };
}

/** Returns the inputs or a state with the values that the program sets in this run. The saved values are also kept. */
export function withProgramValues<State extends HiddenInputs>(state: State, now: ProgramValues): State {
  const savedValues = state.savedValues ?? programValuesOf(state);
  return { ...state, ...programValuesOf(now), savedValues };
}

/** Returns the hidden inputs that the engine has saved, which may differ from the values of this run. */
export function savedInputsOf(state: HiddenInputs): HiddenInputs {
  const { key, keyAt, importId, savedValues } = state;
  return { key, keyAt, importId, ...programValuesOf(savedValues ?? state) };
}

/** Returns the hidden inputs for the outputs: the saved values, and the values of this run. */
export function hiddenInputsOf(state: HiddenInputs): HiddenInputs {
  const { key, keyAt, importId, savedValues } = state;
  return { key, keyAt, importId, savedValues, ...programValuesOf(state) };
}

/** Returns the value of the argument or output with the given name, as programs spell it. */
export function propertyOf(state: RemoteValues & Outputs & Bag, name: string): Json {
  const visible = { ...argumentMembers, ...outputMembers };
  return Object.hasOwn(visible, name) ? state[name as keyof typeof visible] : state.unknown?.[name];
}

export function outputNamesOf(state: Outputs & Bag): string[] {
  const others = Object.keys(state.unknown ?? {}).filter((name) => !name.startsWith("__"));
  return [...Object.keys(outputMembers), ...others].filter((name) => propertyOf(state, name) !== undefined);
}

/** Returns the name of a resource, which is the last part of its URN and may contain colons. */
export function resourceName(urn: string | undefined): string | undefined {
  return urn?.split("::").slice(3).join("::");
}

/** Returns properties without undefined values, because of which the host would fail or hang. All values come from JSON. */
export function toPlainJson(properties: object): Properties {
  return JSON.parse(JSON.stringify(properties));
}
