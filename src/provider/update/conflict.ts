import { redact } from "../../diagnostics/redact";
import { sameValue } from "../../model/equality";
import type { Field } from "../../model/fields";
import type { Secrets } from "../../model/secrets";
import {
  isChangedByOthers,
  isNormalizedForm,
  isProven,
  isToChange,
  isUpdateApplied,
  type PropertySides,
} from "../../model/three-way";

/**
 * What an update whose revision is not in force any more has to do: nothing, where all is as desired already; go again,
 * where nothing of the program's was changed; or give way, also where a property isn't shown and so may have been changed.
 */
export type Verdict = "made" | "again" | { readonly conflict: readonly PropertySides[] };

/**
 * @param unsure the sides before a request that may have been carried out, where there was one
 * @param countsNew whether a field that the program sets for the first time counts, too: it is not as the state has seen it
 * @param isKnown whether the object has the revision of the state, so that nobody has changed anything
 */
export function judgeConflict(
  sides: readonly PropertySides[],
  {
    unsure,
    countsNew,
    isKnown,
  }: {
    unsure?: readonly PropertySides[] | undefined;
    countsNew: (field: Field) => boolean;
    isKnown: boolean;
  },
): Verdict {
  const isOwn =
    unsure !== undefined && !unsure.some(isChangedByOthers) && isUpdateApplied(sides, isNormalizedForm);
  const conflict = sides.filter(
    (side) =>
      isChangedByOthers(side) &&
      !(isOwn && isToChange(side)) &&
      (side.inState !== undefined || countsNew(side.field)),
  );
  if (conflict.length > 0) return { conflict };
  if (isOwn || sides.filter(isToChange).every(isProven)) return "made";
  // Many services leave out what has no value, so that the absence of a property may show that it has none, as before or as desired.
  const untold = sides.filter(
    ({ isShown, inState, desired, field }) =>
      !isShown && inState !== undefined && desired !== undefined && field.change === "in place",
  );
  return isKnown || untold.length === 0 ? "again" : { conflict: untold };
}

const HEADER = ["property", "in your state", "now at the service", "desired"];
const MAX_CELL_CHARACTERS = 48;
const MAX_ROWS = 50;

/**
 * State, service and program beside each other, in aligned columns: a row for each property that somebody moved or that
 * was to be changed.
 */
export function conflictTable(
  sides: readonly PropertySides[],
  conflict: readonly PropertySides[],
  secrets: Secrets,
): readonly string[] {
  const shown = sides.filter((side) => conflict.includes(side) || isToChange(side));
  const rows = [...new Map(shown.map((side) => [nameOf(side, secrets), rowOf(side, secrets)])).values()];
  return aligned(HEADER, rows);
}

/** Service and program beside each other, for what an object has that is to be taken over. */
export function importTable(sides: readonly PropertySides[], secrets: Secrets): readonly string[] {
  const rows = sides.map((side) => [
    nameOf(side, secrets),
    cellOf(side, side.now, secrets),
    cellOf(side, side.desired, secrets),
  ]);
  return aligned(["property", "at the service", "in the program"], rows);
}

function aligned(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const table = [header, ...rows.slice(0, MAX_ROWS)];
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  const more = rows.length - MAX_ROWS;
  return [...lines.map((line) => line.trimEnd()), ...(more > 0 ? [`… and ${more} more`] : [])];
}

/** The properties' names for a sentence. */
export function namesOf(sides: readonly PropertySides[], secrets: Secrets): string {
  return [...new Set(sides.map((side) => nameOf(side, secrets)))].join(", ");
}

/** Of secret labels not even the keys are told. */
function nameOf({ field, property }: PropertySides, { names, strings }: Secrets): string {
  return names.has(field.name) ? field.name : onOneLine(redact(property, strings));
}

function rowOf(side: PropertySides, secrets: Secrets): string[] {
  const { field, inState, known, now, isShown, desired } = side;
  const shown = (value: unknown): string => cellOf(side, value, secrets);
  const isRespelt = inState !== undefined && !sameValue(field, inState, known);
  const before = isRespelt ? `${shown(inState)} (${shown(known)})` : shown(inState);
  return [nameOf(side, secrets), before, isShown ? shown(now) : "(not told)", shown(desired)];
}

function cellOf({ field }: PropertySides, value: unknown, secrets: Secrets): string {
  return secrets.names.has(field.name) ? "[secret]" : cell(value, secrets);
}

function cell(value: unknown, { strings }: Secrets): string {
  // Redacted before it is shortened: a secret that is cut in two would not be recognised.
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

/** A line break in what the service sent would tear the row. */
function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]+/gu, " ").trim();
}

/** Cut in the middle: two long values, as of keys, rarely differ at the beginning. */
function truncated(text: string, widest: number): string {
  if (text.length <= widest) return text;
  const head = Math.floor(widest / 3);
  return `${text.slice(0, head)}…${text.slice(head + 1 - widest)}`;
}
