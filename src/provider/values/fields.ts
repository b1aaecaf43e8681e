import { isDeepStrictEqual } from "node:util";

/** An argument of a resource: its names here and on the wire, and how a change of it is made. */
export interface Field {
  /** Name in programs. */
  readonly name: string;
  /** Name on the wire (§2). */
  readonly wire: string;
  readonly change: "replace" | "in place";
  readonly type: "text" | "keys" | "labels";
}

const text = (name: string, change: Field["change"], wire = name): Field => ({
  name,
  wire,
  change,
  type: "text",
});

/** The fields of a project's creation request (§4.2), in the order in which they are sent. */
export const projectFields: readonly Field[] = [text("name", "replace"), text("region", "replace")];

/** The fields of an instance's creation request (§2.2) and its labels (§4.4), in the order in which they are sent. */
export const instanceFields: readonly Field[] = [
  text("project", "replace"),
  text("name", "in place"),
  text("image", "replace"),
  text("flavor", "in place"),
  text("network", "in place"),
  text("publicIp", "in place", "public_ip"),
  { name: "sshKeys", wire: "ssh_keys", change: "in place", type: "keys" },
  { name: "labels", wire: "labels", change: "in place", type: "labels" },
];

export type Labels = Record<string, unknown>;

/** Labels as a map; anything else is none. */
export function labelsOf(value: unknown): Labels {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  return isMap ? Object.fromEntries(Object.entries(value)) : {};
}

/** Whether two values of a field mean the same. SSH keys: a set of types and keys, whatever their comments. */
export function sameValue(field: Field, one: unknown, other: unknown): boolean {
  if (field.type === "keys") return isDeepStrictEqual(keySet(one), keySet(other));
  return isDeepStrictEqual(one ?? undefined, other ?? undefined);
}

function keySet(value: unknown): string[] {
  if (!Array.isArray(value)) return value === undefined || value === null ? [] : [JSON.stringify(value)];
  const keys = value.map((key: unknown) => (typeof key === "string" ? typeAndKey(key) : JSON.stringify(key)));
  return [...new Set(keys)].sort();
}

/** `options type key comment` without options and comment; a line of another form as it is. */
function typeAndKey(line: string): string {
  return (
    /(?:^|\s)((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)(?:\s|$)/.exec(line)?.slice(1).join(" ") ??
    line.trim()
  );
}
