import { createHash } from "node:crypto";

/** All ways in which the service can normalize values. */
export const normalizations = [
  "ids",
  "upper-case",
  "lower-case",
  "trimmed",
  "bare-keys",
  "fingerprints",
  "numeric-labels",
] as const;

/**
 * A way in which the service normalizes values in replies.
 *
 * - `ids` reports `image`, `flavor` and `network` as ids: `img-…`, `flv-…`, `net-…`.
 * - `upper-case` reports `image`, `flavor`, `network` and `region` in upper case.
 * - `lower-case` reports names and label values in lower case.
 * - `trimmed` removes surrounding white space from names, label keys and label values.
 * - `bare-keys` reports SSH keys without comments, sorted.
 * - `fingerprints` reports SSH keys as fingerprints (`SHA256:…`), sorted.
 * - `numeric-labels` reports label values that are numbers as JSON numbers.
 */
export type Normalization = (typeof normalizations)[number];

type Fields = Readonly<Record<string, unknown>>;

/** The functions that normalize fields. Normalizing a value twice changes nothing, so a request may contain either form. */
const rewrites: Readonly<Record<Normalization, (fields: Fields) => Fields>> = {
  ids: ({ image, flavor, network }) => ({
    image: idOf("img", image),
    flavor: idOf("flv", flavor),
    network: idOf("net", network),
  }),
  "upper-case": (fields) =>
    Object.fromEntries(
      ["image", "flavor", "network", "region"].map((name) => [
        name,
        onText(fields[name], (text) => text.toUpperCase()),
      ]),
    ),
  "lower-case": ({ name, labels }) => ({
    name: onText(name, (text) => text.toLowerCase()),
    labels: onLabels(labels, ([key, value]) => [key, onText(value, (text) => text.toLowerCase())]),
  }),
  trimmed: ({ name, labels }) => ({
    name: onText(name, (text) => text.trim()),
    labels: onLabels(labels, ([key, value]) => [key.trim(), onText(value, (text) => text.trim())]),
  }),
  "bare-keys": ({ ssh_keys }) => ({ ssh_keys: Array.isArray(ssh_keys) ? bareKeys(ssh_keys) : ssh_keys }),
  fingerprints: ({ ssh_keys }) => ({
    ssh_keys: Array.isArray(ssh_keys) ? ssh_keys.map((key) => fingerprint(String(key))).sort() : ssh_keys,
  }),
  "numeric-labels": ({ labels }) => ({
    labels: onLabels(labels, ([key, value]) => [key, onText(value, numberOf)]),
  }),
};

/** Returns the fields of an object in their normalized form. Missing fields remain missing. */
export function normalized(ways: readonly Normalization[], fields: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = { ...fields };
  for (const way of ways) {
    for (const [name, value] of Object.entries(rewrites[way](result)))
      if (name in result) result[name] = value;
  }
  return result;
}

/** Derives an id from a name. Values that are already ids are returned unchanged. */
function idOf(prefix: string, value: unknown): unknown {
  if (typeof value !== "string" || new RegExp(`^${prefix}-[0-9a-f]{12}$`, "i").test(value)) return value;
  return `${prefix}-${createHash("sha256").update(value).digest("hex").slice(0, 12)}`;
}

function onText(value: unknown, rewrite: (text: string) => unknown): unknown {
  return typeof value === "string" ? rewrite(value) : value;
}

function onLabels(labels: unknown, rewrite: (entry: [string, unknown]) => [string, unknown]): unknown {
  if (typeof labels !== "object" || labels === null) return labels;
  return Object.fromEntries(Object.entries(labels).map(rewrite));
}

/** Returns SSH keys without comments, in sorted order. */
function bareKeys(keys: readonly unknown[]): unknown[] {
  return keys.map((key) => String(key).split(/\s+/).slice(0, 2).join(" ")).sort();
}

/** Returns the fingerprint of an SSH key as OpenSSH prints it. */
function fingerprint(key: string): string {
  const [, bytes] = key.split(/\s+/);
  if (bytes === undefined) return key;
  const digest = createHash("sha256").update(Buffer.from(bytes, "base64")).digest("base64");
  return `SHA256:${digest.replace(/=+$/, "")}`;
}

function numberOf(text: string): string | number {
  return String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text;
}
