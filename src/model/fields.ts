/** One property that a program sets: everything that the rest of the code derives from it. */
export interface Field {
  /** Name in programs. */
  readonly name: string;
  /** Name on the wire (§2). */
  readonly wire: string;
  readonly type: "text" | "keys" | "labels";
  /** Whether a program must give it. If it may leave out the name, the provider generates one. */
  readonly argument: "required" | "generated" | "optional";
  /** What a change requires: a new object, or an update in place. */
  readonly change: "replace" | "in place";
  /** Whether nobody can change it once the object exists. */
  readonly isFixed?: boolean;
  /** Of labels, whether the service is known to keep the case of keys. */
  readonly keepsCase?: boolean;
  /** Of the public address, the fields that may show it. */
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

/** An object's fields as the service sent them. */
export type WireFields = Readonly<Record<string, unknown>>;
