import * as v from "valibot";
import type { Client } from "../api/client";
import { typeTokens } from "../package";

export type Json = unknown;

/** An object's fields as the service sent them. */
export type WireFields = Readonly<Record<string, Json>>;

/** The arguments of a project or an instance. Each may be an unknown value in previews, which is a string: see `isUnknown`. */
export interface Arguments {
  readonly name?: string | undefined;
  readonly region?: string | undefined;
  readonly project?: string | undefined;
  readonly image?: string | undefined;
  readonly flavor?: string | undefined;
  readonly network?: string | undefined;
  readonly publicIp?: string | undefined;
  /** A list of strings. After drift, the state contains the remote value, which may have a different type. */
  readonly sshKeys?: Json;
  /** A map of strings. */
  readonly labels?: Json;
}

export type ArgumentName = keyof Arguments;

export type RemoteValues = { readonly [Name in ArgumentName]?: Json };

/** The description of one property, which determines validation, request bodies, outputs and drift detection. */
export interface Field {
  readonly name: ArgumentName;
  /** Name on the wire (§2). */
  readonly wire: string;
  readonly type: "text" | "keys" | "labels";
  /** Whether the program must set the property. If the property is `generated`, the provider generates a missing name. */
  readonly argument: "required" | "generated" | "optional";
  /** Whether a change requires a replacement. */
  readonly change: "replace" | "in place";
  /** Whether the service can't change the property of an existing object. */
  readonly isFixed?: boolean;
  /** For labels: whether the service is known to preserve the case of keys. */
  readonly keepsCase?: boolean;
  /** For the public address: the fields that may contain the address. */
  readonly addressFields?: readonly string[];
}

/** The properties of a project (§4.2), in the order in which a creation request sends them. */
export const projectFields: readonly Field[] = [
  { name: "name", wire: "name", type: "text", argument: "generated", change: "replace" },
  { name: "region", wire: "region", type: "text", argument: "required", change: "replace", isFixed: true },
];

/** The common names of the field that contains the public address. */
export const ADDRESS_FIELDS = ["ip_address", "public_address", "public_ip"] as const;

/** The properties of an instance (§2.2, §4.4), in the order in which a creation request sends them. */
export const instanceFields: readonly Field[] = [
  { name: "project", wire: "project", type: "text", argument: "required", change: "replace" },
  { name: "name", wire: "name", type: "text", argument: "generated", change: "in place" },
  { name: "image", wire: "image", type: "text", argument: "required", change: "replace" },
  { name: "flavor", wire: "flavor", type: "text", argument: "required", change: "in place" },
  { name: "network", wire: "network", type: "text", argument: "required", change: "in place" },
  {
    ...{ name: "publicIp", wire: "public_ip", type: "text", argument: "optional", change: "in place" },
    addressFields: ADDRESS_FIELDS,
  },
  { name: "sshKeys", wire: "ssh_keys", type: "keys", argument: "optional", change: "in place" },
  { name: "labels", wire: "labels", type: "labels", argument: "optional", change: "in place" },
];

export function isMap(value: Json): value is WireFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The placeholder for an unknown string. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Pulumi's placeholders for unknown values. Each type of value has its own placeholder. */
const sentinels = new Set([
  UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

export function isUnknown(value: unknown): boolean {
  return typeof value === "string" && sentinels.has(value);
}

/** Returns the arguments whose values are unknown or contain unknown values. */
export function unknownArguments(fields: readonly Field[], args: Arguments): Arguments {
  const names = fields.map(({ name }) => name).filter((name) => hasUnknown(args[name]));
  return Object.fromEntries(names.map((name) => [name, args[name]]));
}

function hasUnknown(value: unknown): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some(hasUnknown)
    : isUnknown(value);
}

const orUnknown = <T extends v.GenericSchema>(schema: T) =>
  v.lazy((input): v.GenericSchema => (isUnknown(input) ? v.any() : schema));

/** Returns the type of a value for error messages, such as `a list`. */
export const typeName = (input: unknown): string =>
  input === null
    ? "null"
    : Array.isArray(input)
      ? "a list"
      : `a ${typeof input === "object" ? "map" : typeof input}`;

/** Returns a step of a property path for error messages: `.name`, `["a.b"]` or `[0]`. */
export function pathStep(key: unknown): string {
  if (typeof key === "number") return `[${key}]`;
  return /^\w+$/.test(String(key)) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

const string = v.string((issue) => `must be a string, but is ${typeName(issue.input)}`);

const text = v.pipe(
  string,
  v.check((value) => value.trim() !== "", "must not be empty"),
);

const sshKey = v.pipe(
  text,
  v.check(
    (key) => !key.includes("PRIVATE KEY"),
    "is a private key: use the public key from the .pub file instead, and remove the private key from the program",
  ),
  v.check(
    (key) => !/[\r\n]/.test(key),
    "must be a single line: remove the line break, for example with .trim() if you read the key from a file",
  ),
);

const labelKey = v.pipe(
  v.string(),
  v.check((key) => /^\S+$/.test(key), "a label key must not be empty or contain white space"),
);

const labels = v.pipe(
  v.custom<WireFields>(isMap, (issue) => `must be a map of strings, but is ${typeName(issue.input)}`),
  v.record(labelKey, orUnknown(string)),
);

const sshKeys = v.array(orUnknown(sshKey), (issue) => `must be a list, but is ${typeName(issue.input)}`);

const schemas: Readonly<Record<Field["type"], v.GenericSchema>> = {
  text: orUnknown(text),
  keys: orUnknown(sshKeys),
  labels: orUnknown(labels),
};

/** Returns a schema that validates required arguments, types, SSH keys and label keys. Unknown values are valid. */
function argumentsSchema(fields: readonly Field[]): v.GenericSchema {
  const entries = fields.map(({ name, type, argument }) => [
    name,
    argument === "required" ? schemas[type] : v.optional(schemas[type]),
  ]);
  return v.object(Object.fromEntries(entries));
}

/** The differences between projects and instances. */
export interface Kind {
  readonly name: "project" | "instance";
  readonly className: "Project" | "Instance";
  readonly article: "a" | "an";
  readonly fields: readonly Field[];
  readonly arguments: v.GenericSchema;
  /** Returns the requests for objects of this kind. With a project, lists contain only instances of that project. */
  requests(client: Client, project?: string): Client["projects"];
}

export function isUrnOf({ name }: Kind, urn: string): boolean {
  return urn.includes(`${typeTokens[name]}::`);
}

/** Returns a copy of the kind. The setting `ipAddressField` determines the field that contains the public address. */
export function withAddressField(kind: Kind, name: string | undefined): Kind {
  // Projects have no address. `projectKind` must not be copied, because kinds are compared by identity.
  if (name === undefined || kind === projectKind) return kind;
  const named = (field: Field): Field => (field.addressFields ? { ...field, addressFields: [name] } : field);
  return { ...kind, fields: kind.fields.map(named) };
}

export const projectKind: Kind = {
  name: "project",
  className: "Project",
  article: "a",
  fields: projectFields,
  arguments: argumentsSchema(projectFields),
  requests: ({ projects }) => projects,
};

export const instanceKind: Kind = {
  name: "instance",
  className: "Instance",
  article: "an",
  fields: instanceFields,
  arguments: argumentsSchema(instanceFields),
  requests: ({ instances }, project) => ({
    ...instances,
    list: (options) => instances.list({ project }, options),
    pages: (options) => instances.pages({ project }, options),
  }),
};

export const kindsByType: ReadonlyMap<string, Kind> = new Map([
  [typeTokens.project, projectKind],
  [typeTokens.instance, instanceKind],
]);

/** The identity of an object. A project and an instance may have the same id, and services may reuse ids (I1). */
export interface ObjectIdentity {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  readonly kind: Kind["name"];
  readonly id: string;
}

export function identityKey({ endpoint, kind, id }: ObjectIdentity): string {
  return JSON.stringify([endpoint, kind, id]);
}
