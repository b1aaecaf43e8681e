import { hash } from "node:crypto";
import { SSH_KEY } from "../diagnostics/redact";

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
