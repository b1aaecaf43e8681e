/** A value of a JSON document. */
export type Json = unknown;

/** An object's fields as the service sent them. */
export type WireFields = Readonly<Record<string, Json>>;

/**
 * The arguments of a project or an instance. In previews, any of them may be an unknown value, which is a string: see
 * {@link "./unknown"}.
 */
export interface Arguments {
  readonly name?: string | undefined;
  readonly region?: string | undefined;
  readonly project?: string | undefined;
  readonly image?: string | undefined;
  readonly flavor?: string | undefined;
  readonly network?: string | undefined;
  readonly publicIp?: string | undefined;
  /** A list of strings. After drift, a state has the remote value here, which may have any form. */
  readonly sshKeys?: Json;
  /** A map of strings. */
  readonly labels?: Json;
}

/** The name of an argument. */
export type ArgumentName = keyof Arguments;

/** Values by the name of the argument, as the service shows them. */
export type RemoteValues = { readonly [Name in ArgumentName]?: Json };

/** One property of a resource. Validation, request bodies, outputs and drift detection derive from this description. */
export interface Field {
  /** Name in programs. */
  readonly name: ArgumentName;
  /** Name on the wire (§2). */
  readonly wire: string;
  readonly type: "text" | "keys" | "labels";
  /** Whether programs must set it. The provider generates a name if the program sets none. */
  readonly argument: "required" | "generated" | "optional";
  /** Whether a change requires a replacement. */
  readonly change: "replace" | "in place";
  /** Whether nobody can change the property of an existing object. */
  readonly isFixed?: boolean;
  /** For labels: whether the service is known to preserve the case of keys. */
  readonly keepsCase?: boolean;
  /** For the public address: the fields that may show it. */
  readonly addressFields?: readonly string[];
}

/** The properties of a project (§4.2), in the order in which a creation request sends them. */
export const projectFields: readonly Field[] = [
  { name: "name", wire: "name", type: "text", argument: "generated", change: "replace" },
  { name: "region", wire: "region", type: "text", argument: "required", change: "replace", isFixed: true },
];

/** The properties of an instance (§2.2, §4.4), in the order in which a creation request sends them. */
export const instanceFields: readonly Field[] = [
  { name: "project", wire: "project", type: "text", argument: "required", change: "replace" },
  { name: "name", wire: "name", type: "text", argument: "generated", change: "in place" },
  { name: "image", wire: "image", type: "text", argument: "required", change: "replace" },
  { name: "flavor", wire: "flavor", type: "text", argument: "required", change: "in place" },
  { name: "network", wire: "network", type: "text", argument: "required", change: "in place" },
  {
    ...{ name: "publicIp", wire: "public_ip", type: "text", argument: "optional", change: "in place" },
    addressFields: ["ip_address", "public_address", "public_ip"],
  },
  { name: "sshKeys", wire: "ssh_keys", type: "keys", argument: "optional", change: "in place" },
  { name: "labels", wire: "labels", type: "labels", argument: "optional", change: "in place" },
];
