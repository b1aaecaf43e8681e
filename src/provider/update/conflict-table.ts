import { redact } from "../../diagnostics/redact";
import { sameValue } from "../../model/changes";
import {
  isChangedByOthers,
  isNormalizedForm,
  isProven,
  isToChange,
  isUpdateApplied,
  type PropertySides,
} from "../../model/property-sides";
import type { Field } from "../../model/resource-fields";
import type { Secrets } from "../../model/secrets";

/**
 * The decision about an update with an outdated revision. `applied` means that the object already has the desired values. `retry` means
 * that the update can be retried, because no managed property has changed. `conflict` contains the conflicting properties, including
 * properties that the reply omits.
 */
export type Verdict = "applied" | "retry" | { readonly conflict: readonly PropertySides[] };

/**
 * Decides whether an object conflicts with an update.
 *
 * @param known.beforeUnknown the comparison before a request that may have been applied, if there was one
 * @param known.countsNew whether a field that the program sets for the first time has changed since it was last read
 * @param known.isKnown whether the object has the recorded revision, so that no user has changed it
 */
export function judgeConflict(
  sides: readonly PropertySides[],
  known: {
    beforeUnknown: readonly PropertySides[] | undefined;
    countsNew: (field: Field) => boolean;
    isKnown: boolean;
  },
): Verdict {
  const { beforeUnknown, countsNew, isKnown } = known;
  const isOwn =
    beforeUnknown !== undefined &&
    !beforeUnknown.some(isChangedByOthers) &&
    isUpdateApplied(sides, isNormalizedForm);
  const conflict = sides.filter(
    (side) =>
      isChangedByOthers(side) &&
      !(isOwn && isToChange(side)) &&
      (side.inState !== undefined || countsNew(side.field)),
  );
  if (conflict.length > 0) return { conflict };
  if (isOwn || sides.filter(isToChange).every(isProven)) return "applied";
  // Many services omit empty fields, so an omitted property may be empty.
  const omitted = sides.filter(
    ({ isShown, inState, desired, field }) =>
      !isShown && inState !== undefined && desired !== undefined && field.change === "in place",
  );
  return isKnown || omitted.length === 0 ? "retry" : { conflict: omitted };
}

const MAX_CELL_CHARACTERS = 48;
const MAX_ROWS = 50;

/** Returns a table with the state, the remote value and the desired value of each property that is changed or in conflict. */
export function conflictTable(
  sides: readonly PropertySides[],
  conflict: readonly PropertySides[],
  secrets: Secrets,
): readonly string[] {
  const shown = sides.filter((side) => conflict.includes(side) || isToChange(side));
  const rows = [...new Map(shown.map((side) => [nameOf(side, secrets), rowOf(side, secrets)])).values()];
  return aligned(["property", "in your state", "now in the service", "desired"], rows);
}

/** Returns a table with the remote value and the desired value of each property that differs in an object to import. */
export function importTable(sides: readonly PropertySides[], secrets: Secrets): readonly string[] {
  const rows = sides.map((side) => [
    nameOf(side, secrets),
    cellOf(side, side.now, secrets),
    cellOf(side, side.desired, secrets),
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
export function namesOf(sides: readonly PropertySides[], secrets: Secrets): string {
  return [...new Set(sides.map((side) => nameOf(side, secrets)))].join(", ");
}

/** Returns the name of a property, without the keys of secret labels. */
function nameOf({ field, property }: PropertySides, { names, strings }: Secrets): string {
  return names.has(field.name) ? field.name : onOneLine(redact(property, strings));
}

function rowOf(side: PropertySides, secrets: Secrets): string[] {
  const { field, inState, known, now, isShown, desired } = side;
  const shown = (value: unknown): string => cellOf(side, value, secrets);
  const isRespelt = inState !== undefined && !sameValue(field, inState, known);
  const before = isRespelt ? `${shown(inState)} (${shown(known)})` : shown(inState);
  return [nameOf(side, secrets), before, isShown ? shown(now) : "(not returned)", shown(desired)];
}

function cellOf({ field }: PropertySides, value: unknown, { names, strings }: Secrets): string {
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
