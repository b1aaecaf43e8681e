import { redact } from "../../diagnostics/redact";
import { sameValue } from "../../model/changes";
import { type ComparedProperty, isToChange } from "../../model/property-comparison";
import type { Secrets } from "../../model/secrets";

const MAX_CELL_CHARACTERS = 48;
const MAX_ROWS = 50;

/** Returns a table with the state, the remote value and the desired value of each property that is changed or in conflict. */
export function conflictTable(
  properties: readonly ComparedProperty[],
  conflict: readonly ComparedProperty[],
  secrets: Secrets,
): readonly string[] {
  const shown = properties.filter(
    (compared) => conflict.some(({ property }) => property === compared.property) || isToChange(compared),
  );
  const rows = [
    ...new Map(shown.map((compared) => [nameOf(compared, secrets), rowOf(compared, secrets)])).values(),
  ];
  return aligned(["property", "in your state", "now in the service", "desired"], rows);
}

/** Returns a table with the remote value and the desired value of each property that differs in an object to import. */
export function importTable(properties: readonly ComparedProperty[], secrets: Secrets): readonly string[] {
  const rows = properties.map((compared) => [
    nameOf(compared, secrets),
    cellOf(compared, compared.now, secrets),
    cellOf(compared, compared.desired, secrets),
  ]);
  return aligned(["property", "in the service", "in the program"], rows);
}

function aligned(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const table = [header, ...rows.slice(0, MAX_ROWS)];
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  const more = rows.length - MAX_ROWS;
  return [...lines.map((line) => line.trimEnd()), ...(more > 0 ? [`… and ${more} more`] : [])];
}

/** Returns the names of properties for a sentence in a message. */
export function namesOf(properties: readonly ComparedProperty[], secrets: Secrets): string {
  return [...new Set(properties.map((compared) => nameOf(compared, secrets)))].join(", ");
}

/** Returns the name of a property, without the keys of secret labels. */
function nameOf({ field, property }: ComparedProperty, { names, strings }: Secrets): string {
  return names.has(field.name) ? field.name : onOneLine(redact(property, strings));
}

function rowOf(compared: ComparedProperty, secrets: Secrets): string[] {
  const { field, inState, known, now, isShown, desired } = compared;
  const shown = (value: unknown): string => cellOf(compared, value, secrets);
  const isRespelt = inState !== undefined && !sameValue(field, inState, known);
  const before = isRespelt ? `${shown(inState)} (${shown(known)})` : shown(inState);
  return [nameOf(compared, secrets), before, isShown ? shown(now) : "(not returned)", shown(desired)];
}

function cellOf({ field }: ComparedProperty, value: unknown, { names, strings }: Secrets): string {
  if (names.has(field.name)) return "[secret]";
  // The text is redacted first, because a truncated secret would not be recognized.
  const text = (one: unknown): string =>
    onOneLine(redact(typeof one === "string" ? one : JSON.stringify(one), strings));
  if (value === undefined || value === null) return "(not set)";
  if (value === "") return '""';
  if (!Array.isArray(value)) return truncated(text(value), MAX_CELL_CHARACTERS);
  if (value.length === 0) return "(none)";
  return truncated(
    value.map((item) => truncated(text(item), MAX_CELL_CHARACTERS / 2)).join(", "),
    MAX_CELL_CHARACTERS,
  );
}

/** Replaces line breaks, because they would break the table. */
function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]+/gu, " ").trim();
}

/** Truncates a string in the middle, because long values such as keys rarely differ at the beginning. */
function truncated(text: string, widest: number): string {
  if (text.length <= widest) return text;
  const head = Math.floor(widest / 3);
  return `${text.slice(0, head)}…${text.slice(head + 1 - widest)}`;
}
