import { redact } from "../diagnostics/redact";
import { isToChange, type Side } from "./conflict";
import { sameValue } from "./fields";
import type { Secrets } from "./secrets";

const HEADER = ["property", "in your state", "now at the service", "desired"];
const WIDEST_CELL = 48;
const MOST_ROWS = 50;

/**
 * State, service and program beside each other, in aligned columns: a row for each property that somebody moved or that
 * was to be changed.
 */
export function conflictTable(
  sides: readonly Side[],
  conflict: readonly Side[],
  secrets: Secrets,
): readonly string[] {
  const shown = sides.filter((side) => conflict.includes(side) || isToChange(side));
  const rows = [...new Map(shown.map((side) => [nameOf(side, secrets), rowOf(side, secrets)])).values()];
  const table = [HEADER, ...rows.slice(0, MOST_ROWS)];
  const widths = HEADER.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  const more = rows.length - MOST_ROWS;
  return [...lines.map((line) => line.trimEnd()), ...(more > 0 ? [`… and ${more} more`] : [])];
}

/** The properties' names for a sentence. */
export function namesOf(sides: readonly Side[], secrets: Secrets): string {
  return [...new Set(sides.map((side) => nameOf(side, secrets)))].join(", ");
}

/** Of secret labels not even the keys are told. */
function nameOf({ field, property }: Side, { names, texts }: Secrets): string {
  return names.has(field.name) ? field.name : flat(redact(property, texts));
}

function rowOf(side: Side, secrets: Secrets): string[] {
  const { field, inState, known, now, isShown, desired } = side;
  const cellOf = (value: unknown): string =>
    secrets.names.has(field.name) ? "[secret]" : cell(value, secrets);
  const isRespelt = inState !== undefined && !sameValue(field, inState, known);
  const before = isRespelt ? `${cellOf(inState)} (${cellOf(known)})` : cellOf(inState);
  return [nameOf(side, secrets), before, isShown ? cellOf(now) : "(not told)", cellOf(desired)];
}

function cell(value: unknown, { texts }: Secrets): string {
  // Redacted before it is shortened: a secret that is cut in two would not be recognised.
  const text = (one: unknown): string =>
    flat(redact(typeof one === "string" ? one : JSON.stringify(one), texts));
  if (value === undefined || value === null) return "(not set)";
  if (value === "") return '""';
  if (!Array.isArray(value)) return shortened(text(value), WIDEST_CELL);
  if (value.length === 0) return "(none)";
  return shortened(value.map((item) => shortened(text(item), WIDEST_CELL / 2)).join(", "), WIDEST_CELL);
}

/** A line break in what the service sent would tear the row. */
function flat(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]+/gu, " ").trim();
}

/** Cut in the middle: two long values, as of keys, rarely differ at the beginning. */
function shortened(text: string, widest: number): string {
  if (text.length <= widest) return text;
  const head = Math.floor(widest / 3);
  return `${text.slice(0, head)}…${text.slice(head + 1 - widest)}`;
}
