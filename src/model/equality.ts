import { hash } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { SSH_KEY } from "../diagnostics/redact";
import type { Arguments, Field } from "./fields";
import { isMap } from "./labels";

/**
 * Whether two values of a field are equal. SSH keys are a set of types and keys, without comments and options. A fingerprint is equal to its
 * key.
 */
export function sameValue(field: Field, one: unknown, other: unknown): boolean {
  if (field.type === "keys") {
    const hashed = HASHES.find(({ form }) => [one, other].some((keys) => hasItemMatching(form, keys)));
    return isDeepStrictEqual(keySet(one, hashed), keySet(other, hashed));
  }
  // A state may have a whole object as the remote value.
  return isSameJson(comparable(field, one), comparable(field, other));
}

/** A value to compare: an IPv6 address in the one form that URLs have. */
function comparable(field: Field, value: unknown): unknown {
  const word = referencedValue(field, value) ?? undefined;
  const isLong = field.addressFields !== undefined && typeof word === "string" && isIPv6(word);
  return isLong ? URL.parse(`http://[${word}]`)?.hostname : word;
}

/**
 * Returns the value of a reference that is shown as an object. The object's other members, such as prices, are not the instance's. An
 * object in place of the public address stands for that address, unless its id is among the `own` values.
 */
export function referencedValue({ type, addressFields }: Field, word: unknown, ...own: unknown[]): unknown {
  if (type !== "text") return word;
  if (addressFields === undefined) return referencedId(word, ["id", "uuid", "slug", "name", "original_name"]);
  const id = referencedId(word);
  if (!isMap(word) || own.some((value) => isSameJson(value, id))) return id;
  return ADDRESSES.map((name) => word[name]).find((address) => isIP(String(address)) > 0) ?? id;
}

/** The members of an object in place of the public address that may have that address. */
const ADDRESSES = ["ip_address", "address", "ip"];

/** The id that an object has in one of these members; anything else as it is. */
export function referencedId(word: unknown, members: readonly string[] = ["id"]): unknown {
  if (!isMap(word)) return word;
  const isId = (id: unknown): boolean => typeof id === "string" || typeof id === "number";
  return members.map((name) => word[name]).find(isId) ?? word;
}

/** Whether two JSON values are equal; a number is equal to the numeric string. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (typeof one === "number" && typeof other === "string")
    return other.trim() === other && Number(other || "-") === one;
  if (typeof one === "string" && typeof other === "number") return isSameJson(other, one);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isSameJson(item, other[at]));
  if (!isMap(one) || !isMap(other)) return isDeepStrictEqual(one, other);
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

/** Whether a program's value differs from the one before. An empty list of SSH keys forbids all others, and no list allows them. */
export function isChanged(field: Field, before: unknown, after: unknown): boolean {
  const isListed = (value: unknown): boolean => field.type === "keys" && value !== undefined;
  return isListed(before) !== isListed(after) || !sameValue(field, before, after);
}

/** The checked inputs with the former spelling of values that are equal: the engine compares inputs by itself. */
export function withRecordedForm<News extends Arguments>(
  fields: readonly Field[],
  olds: Arguments,
  news: News,
): News {
  // A request can't carry a fingerprint in place of its key.
  const isSpelt = ({ type, name }: Field): boolean =>
    type !== "keys" || sshKeysIn(olds[name] ?? []) !== undefined;
  const equal = fields.filter(
    (field) => isSpelt(field) && !isChanged(field, olds[field.name], news[field.name]),
  );
  return { ...news, ...Object.fromEntries(equal.map(({ name }) => [name, olds[name]])) };
}

/** A way to show SSH keys by fingerprint, as OpenSSH does: the form of such a text, and the hash of a key in it. */
export interface KeyHash {
  readonly form: RegExp;
  readonly of: (blob: Buffer) => string;
}

export const HASHES: readonly KeyHash[] = [
  { form: /\bSHA256:([\w+/]{43})(?![\w+/])/, of: (blob) => hash("sha256", blob, "base64").slice(0, 43) },
  {
    form: /(?:\bMD5:|(?<![\w:]))((?:[0-9a-f]{2}:){15}[0-9a-f]{2})(?![\w:])/i,
    of: (blob) => (hash("md5", blob).match(/../g) ?? []).join(":"),
  },
];

/** Whether any item of a list is the fingerprint of an SSH key. */
export function hasFingerprint(list: unknown): boolean {
  return HASHES.some(({ form }) => hasItemMatching(form, list));
}

export const hasItemMatching = (form: RegExp, keys: unknown): boolean =>
  Array.isArray(keys) && keys.some((key) => typeof key === "string" && form.test(key));

/** The keys as a sorted list without duplicates; as fingerprints if a hash is given. */
export function keySet(value: unknown, hashed?: KeyHash): string[] {
  if (!Array.isArray(value)) return value === undefined || value === null ? [] : [JSON.stringify(value)];
  const keys = value.map((key: unknown) => {
    if (typeof key !== "string") return JSON.stringify(key);
    return hashed === undefined ? typeAndKey(key) : fingerprintOf(key, hashed);
  });
  return [...new Set(keys)].sort();
}

/**
 * Returns the types and keys of a list of SSH public keys in their single-line form (§2.2); `undefined` if it has anything else, such as a
 * fingerprint.
 */
export function sshKeysIn(value: unknown): ReadonlySet<string> | undefined {
  const isKey = (item: unknown): boolean => typeof item === "string" && SSH_KEY.test(item);
  return Array.isArray(value) && value.every(isKey) ? new Set(keySet(value)) : undefined;
}

/** The fingerprint of a key, or in a text; a line of another form as it is. */
function fingerprintOf(line: string, { form, of }: KeyHash): string {
  const [, , blob] = SSH_KEY.exec(line) ?? [];
  return blob === undefined ? (form.exec(line)?.[1] ?? line.trim()) : of(Buffer.from(blob, "base64"));
}

/** `options type key comment` without options and comment; a line of another form as it is. */
function typeAndKey(line: string): string {
  return SSH_KEY.exec(line)?.slice(1).join(" ") ?? line.trim();
}
