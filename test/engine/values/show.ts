import { isList, isMap, Reference, Secret, Unknown, type Value } from "./values";

/** Formats a value for an error about it, as Go does: `{small}`, `{[{1} {a}]}`. It shows secrets in plaintext. */
export function showValue(value: Value | undefined): string {
  if (value === undefined || value === null) return "{<nil>}";
  if (value instanceof Secret) return `{&{${showValue(value.value)}}}`;
  if (value instanceof Unknown || value instanceof Reference) return "{{}}";
  if (isList(value)) return `{[${value.map(showValue).join(" ")}]}`;
  if (!isMap(value)) return `{${value}}`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{map[${entries.map(([key, item]) => `${key}:${showValue(item)}`).join(" ")}]}`;
}

/** Formats a value for outputs and previews. */
export function print(value: Value | undefined, options: { showSecrets: boolean; indent?: string }): string {
  const indent = options.indent ?? "";
  const inner = { ...options, indent: `${indent}    ` };
  if (value === undefined || value === null) return "<null>";
  if (value instanceof Secret) return options.showSecrets ? print(value.value, options) : "[secret]";
  if (value instanceof Unknown) return "[unknown]";
  if (value instanceof Reference) return JSON.stringify(value.urn);
  if (isList(value)) {
    if (value.length === 0) return "[]";
    const items = value.map((item, i) => `${inner.indent}[${i}]: ${print(item, inner)}`);
    return `[\n${items.join("\n")}\n${indent}]`;
  }
  if (isMap(value)) {
    const entries = Object.entries(value).filter(([key]) => !key.startsWith("__"));
    if (entries.length === 0) return "{}";
    const width = Math.max(...entries.map(([key]) => key.length));
    const lines = entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${inner.indent}${key.padEnd(width)}: ${print(item, inner)}`);
    return `{\n${lines.join("\n")}\n${indent}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
