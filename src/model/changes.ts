import { hash } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { SSH_KEY } from "../diagnostics/redact";
import { type Arguments, type Field, isMap, isUnknown, type Json } from "./resource-fields";

export type Labels = Readonly<Record<string, Json>>;

/** Returns labels as a map, or an empty map if the value is not a map. */
export function labelsOf(value: unknown): Labels {
  return isMap(value) ? value : {};
}

/** Returns the fields with different values. An unknown value differs from every known value. */
export function changedFields(fields: readonly Field[], olds: Arguments, news: Arguments): Field[] {
  return fields.filter((field) => isChanged(field, olds[field.name], news[field.name]));
}

/** The property paths in the options `ignoreChanges` and `replaceOnChanges`, such as `flavor`, `labels.env`, `labels["a.b"]` or `*`. */
export type PropertyPaths = readonly string[];

/** The steps of a property path. A number is always an index, never a label key. */
type PathSteps = readonly (string | number)[];

/** The resource options that determine how changes are handled. */
export interface ChangeOptions {
  readonly ignoreChanges?: PropertyPaths | undefined;
  readonly replaceOnChanges?: PropertyPaths | undefined;
  /** Whether a replacement would have the same generated name, because `pulumi:autonaming` adds no random part. */
  readonly keepsName?: boolean | undefined;
}

/**
 * Reports whether `ignoreChanges` contains a property. A path applies to all nested properties, and to its parent if it ends in `*`.
 *
 * @param property the steps to the property, such as `["labels", "env"]`
 */
export function isIgnored(ignored: PropertyPaths, property: PathSteps): boolean {
  const covers = (path: PathSteps): boolean =>
    path.length > 0 && path.every((step, at) => step === "*" || step === property[at]);
  return ignored.map(parsePath).some(covers);
}

/** Reports whether a list of paths contains an argument or one of its properties. */
export function mentionsProperty(paths: PropertyPaths, name: string): boolean {
  return paths.some((path) => ["*", name].includes(String(parsePath(path)[0])));
}

/**
 * Returns the inputs with the former values of ignored arguments, labels and SSH keys. The engine also keeps former values, but not in
 * replacements. After a failure, the engine's values may be outdated. Like the engine, keeps no ignored labels if the program sets none.
 */
export function withIgnoredValues<News extends Arguments>(
  fields: readonly Field[],
  ignored: PropertyPaths,
  { olds, news }: { olds: Arguments; news: News },
): News {
  const kept = fields.flatMap((field): [string, Json][] => {
    const { name, type } = field;
    if (isIgnored(ignored, [name])) return [[name, olds[name]]];
    if (news[name] === undefined || isUnknown(news[name]) || !mentionsProperty(ignored, name)) return [];
    if (type === "keys") {
      const [old, now]: unknown[] = [olds[name], news[name]];
      if (!Array.isArray(old) || !Array.isArray(now) || sameValue(field, old, now)) return [];
      const isLeft = (at: number): boolean => at < old.length && isIgnored(ignored, [name, at]);
      return [[name, now.map((item, at): unknown => (isLeft(at) ? old[at] : item))]];
    }
    if (type !== "labels") return [];
    const isLeft = ([key]: [string, unknown]): boolean => isIgnored(ignored, [name, key]);
    const labels = [
      ...Object.entries(labelsOf(olds[name])).filter(isLeft),
      ...Object.entries(labelsOf(news[name])).filter((label) => !isLeft(label)),
    ];
    return [[name, labels.length === 0 ? news[name] && {} : Object.fromEntries(labels)]];
  });
  return kept.length === 0 ? news : { ...news, ...Object.fromEntries(kept) };
}

/** Returns the fields with the changes in `replaceOnChanges` marked as requiring a replacement. */
export function withReplaceOnChanges(
  fields: readonly Field[],
  paths: PropertyPaths = [],
  { olds, news }: { olds: Arguments; news: Arguments },
): readonly Field[] {
  const listed = paths.map(parsePath);
  const isListed = (change: PathSteps): boolean =>
    listed.some(
      (path) => path.length <= change.length && path.every((step, at) => ["*", change[at]].includes(step)),
    );
  return fields.map((field) => {
    const changes = changedPaths([field.name], olds[field.name], news[field.name]);
    return changes.some(isListed) ? { ...field, change: "replace" } : field;
  });
}

/** Returns the paths of all differences. As in Pulumi's engine, an added or removed map or list is a single difference. */
function changedPaths(path: PathSteps, old: unknown, now: unknown): PathSteps[] {
  if (isSameJson(old, now)) return [];
  const isList = Array.isArray(old);
  if (typeof old !== "object" || typeof now !== "object" || isList !== Array.isArray(now)) return [path];
  const [before, after] = [new Map(Object.entries(old ?? {})), new Map(Object.entries(now ?? {}))];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) =>
    changedPaths([...path, isList ? Number(key) : key], before.get(key), after.get(key)),
  );
}

/** Matches a quoted key in brackets, an index or `*` in brackets, or a name. */
const STEP = /\["((?:\\"|[^"])*)"\]|\[([^\]]*)\]|([^.[]+)/g;

function parsePath(path: string): PathSteps {
  return [...path.matchAll(STEP)].map(([, quoted, index, name = ""]) => {
    if (quoted !== undefined) return quoted.replaceAll('\\"', '"');
    if (index !== undefined) return index === "*" ? index : Number(index);
    return name;
  });
}

/** Reports whether two values are equal. SSH keys are compared as a set, without comments and options, or by their fingerprints. */
export function sameValue(field: Field, one: unknown, other: unknown): boolean {
  if (field.type === "keys") {
    const hashed = HASHES.find(({ form }) => [one, other].some((keys) => hasItemMatching(form, keys)));
    return isDeepStrictEqual(keySet(one, hashed), keySet(other, hashed));
  }
  // The state may contain a remote value that is an object.
  return isSameJson(comparable(field, one), comparable(field, other));
}

/** Returns the form of a value that is used for comparisons. IPv6 addresses are converted to their canonical form. */
function comparable(field: Field, value: unknown): unknown {
  const remote = referencedValue(field, value) ?? undefined;
  const isLong = field.addressFields !== undefined && typeof remote === "string" && isIPv6(remote);
  return isLong ? URL.parse(`http://[${remote}]`)?.hostname : remote;
}

/**
 * Returns the value of a reference that the service returns as an object or a link. This is the first `own` value that identifies the same
 * object, or otherwise the id. Other members of the object, such as prices, are ignored. An object that replaces the public address
 * contains the address, unless its id is one of the `own` values.
 */
export function referencedValue(field: Field, remote: unknown, ...own: unknown[]): unknown {
  if (field.type !== "text") return remote;
  if (isReference(field))
    return own.find((value) => refersTo(remote, value)) ?? referencedId(remote, REFERENCE_MEMBERS);
  const id = referencedId(remote);
  if (!isMap(remote) || own.some((value) => isSameJson(value, id))) return id;
  return (
    ADDRESSES.map((name) => remote[name]).find(
      (address) => typeof address === "string" && isIP(address) > 0,
    ) ?? id
  );
}

/** Reports whether a property identifies another object, so that the service may return this object or a link to it. */
export function isReference({ name, type, addressFields }: Field): boolean {
  return type === "text" && addressFields === undefined && name !== "name";
}

const REFERENCE_MEMBERS = ["id", "uuid", "slug", "name", "original_name"];

/** Reports whether an object contains an id or a name, or a link ends with it. */
function refersTo(remote: unknown, value: unknown): boolean {
  if (typeof value !== "string" || value === "") return false;
  if (remote === value) return true;
  if (isMap(remote)) return REFERENCE_MEMBERS.some((name) => isSameJson(remote[name], value));
  return typeof remote === "string" && /^(https?:\/)?\//.test(remote) && remote.endsWith(`/${value}`);
}

const ADDRESSES = ["ip_address", "address", "ip"];

/** Returns the id in an object, from the first member that contains an id. Any other value is returned unchanged. */
export function referencedId(remote: unknown, members: readonly string[] = ["id"]): unknown {
  if (!isMap(remote)) return remote;
  const isId = (id: unknown): boolean => typeof id === "string" || typeof id === "number";
  return members.map((name) => remote[name]).find(isId) ?? remote;
}

/** Reports whether two JSON values are equal. A number or a boolean is equal to a string that contains the same value. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (typeof one === "number" && typeof other === "string")
    return other.trim() === other && Number(other || "-") === one;
  if (typeof one === "boolean" && typeof other === "string") return String(one) === other;
  if (typeof one === "string" && ["number", "boolean"].includes(typeof other)) return isSameJson(other, one);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at]));
  if (!isMap(one) || !isMap(other)) return isDeepStrictEqual(one, other);
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

/** Reports whether an argument has changed. An empty list of SSH keys removes all keys, but a missing list leaves the keys unmanaged. */
export function isChanged(field: Field, before: unknown, after: unknown): boolean {
  const isListed = (value: unknown): boolean => field.type === "keys" && value !== undefined;
  return isListed(before) !== isListed(after) || !sameValue(field, before, after);
}

/** Returns the inputs with their recorded form if they are equal to the state, because the engine also compares the inputs. */
export function withRecordedForm<News extends Arguments>(
  fields: readonly Field[],
  olds: Arguments,
  news: News,
): News {
  // A request can't contain a fingerprint instead of a key.
  const isSpelt = ({ type, name }: Field): boolean =>
    type !== "keys" || sshKeysIn(olds[name] ?? []) !== undefined;
  const equal = fields.filter(
    (field) => isSpelt(field) && !isChanged(field, olds[field.name], news[field.name]),
  );
  return { ...news, ...Object.fromEntries(equal.map(({ name }) => [name, olds[name]])) };
}

type KeyHash = (typeof HASHES)[number];

/** The formats of SSH key fingerprints. Each has a pattern for OpenSSH's output, and a function that hashes a key. */
const HASHES = [
  {
    form: /\bSHA256:([\w+/]{43})(?![\w+/])/,
    of: (blob: Buffer) => hash("sha256", blob, "base64").slice(0, 43),
  },
  {
    form: /(?:\bMD5:|(?<![\w:]))((?:[0-9a-f]{2}:){15}[0-9a-f]{2})(?![\w:])/i,
    of: (blob: Buffer) => (hash("md5", blob).match(/../g) ?? []).join(":"),
  },
];

/** Reports whether a list contains the fingerprint of an SSH key. */
export function hasFingerprint(list: unknown): boolean {
  return HASHES.some(({ form }) => hasItemMatching(form, list));
}

const hasItemMatching = (form: RegExp, keys: unknown): boolean =>
  Array.isArray(keys) && keys.some((key) => typeof key === "string" && form.test(key));

/** Returns a sorted list of keys without duplicates. If a hash is given, returns the fingerprints of the keys. */
function keySet(value: unknown, hashed?: KeyHash): string[] {
  if (!Array.isArray(value)) return value === undefined || value === null ? [] : [JSON.stringify(value)];
  const keys = value.map((key: unknown) => {
    if (typeof key !== "string") return JSON.stringify(key);
    if (hashed !== undefined) return fingerprintOf(key, hashed);
    return SSH_KEY.exec(key)?.slice(1).join(" ") ?? key.trim(); // without options and comment
  });
  return [...new Set(keys)].sort();
}

/** Returns the types and keys of SSH public keys (§2.2), or `undefined` if the list contains other strings, such as fingerprints. */
export function sshKeysIn(value: unknown): ReadonlySet<string> | undefined {
  const isKey = (item: unknown): boolean => typeof item === "string" && SSH_KEY.test(item);
  return Array.isArray(value) && value.every(isKey) ? new Set(keySet(value)) : undefined;
}

/** Returns the fingerprint of a key, or the fingerprint in a line. Any other line is returned unchanged. */
function fingerprintOf(line: string, { form, of }: KeyHash): string {
  const [, , blob] = SSH_KEY.exec(line) ?? [];
  return blob === undefined ? (form.exec(line)?.[1] ?? line.trim()) : of(Buffer.from(blob, "base64"));
}
