import { contains, type Path, parsePath, reset, showPath } from "./paths";
import { isList, isMap, Reference, Unknown, type Value, type Values, withoutSecrets } from "./values";

export type ChangeKind = "add" | "delete" | "update";

/** The result of a comparison of inputs, and its consequence. */
export interface Diff {
  readonly changes: boolean;
  /** The top-level keys that differ. Empty if the provider doesn't report them. */
  readonly changed: readonly string[];
  readonly replaces: readonly string[];
  readonly deleteBeforeReplace: boolean;
  /** The kind of change of each property path. */
  readonly detailed: Readonly<Record<string, ChangeKind>>;
}

export const noDiff: Diff = {
  changes: false,
  changed: [],
  replaces: [],
  deleteBeforeReplace: false,
  detailed: {},
};

/** Returns a replacement without a comparison. */
export function replaceBecause(key: string): Diff {
  return { ...noDiff, changes: true, replaces: [key] };
}

/** Returns whether the values are equal, regardless of secret marks. An unknown value equals nothing. */
export function equal(a: Value | undefined, b: Value | undefined): boolean {
  return same(a === undefined ? a : withoutSecrets(a), b === undefined ? b : withoutSecrets(b), false);
}

/** Returns whether the values are identical, including secret marks and unknowns, so that nothing must be written. */
export function identical(a: Value, b: Value): boolean {
  return same(a, b, true);
}

function same(a: Value | undefined, b: Value | undefined, unknownsEqual: boolean): boolean {
  if (a instanceof Unknown || b instanceof Unknown) {
    return unknownsEqual && a instanceof Unknown && b instanceof Unknown;
  }
  if (a === undefined || b === undefined || a === null || b === null) return a === b;
  if (a instanceof Reference || b instanceof Reference) {
    return (
      a instanceof Reference && b instanceof Reference && a.urn === b.urn && same(a.id, b.id, unknownsEqual)
    );
  }
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((item, i) => same(item, b[i], unknownsEqual));
  }
  if (isMap(a)) {
    if (!isMap(b)) return false;
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].every((key) => same(a[key], b[key], unknownsEqual));
  }
  if (typeof a === "object" && typeof b === "object") {
    return "value" in a && "value" in b && same(a.value, b.value, unknownsEqual);
  }
  return a === b;
}

export function detailedDiff(olds: Values, news: Values): Record<string, ChangeKind> {
  const found: Record<string, ChangeKind> = {};
  for (const key of new Set([...Object.keys(olds), ...Object.keys(news)]))
    walk([key], olds[key], news[key], found);
  return found;
}

function walk(
  path: Path,
  oldValue: Value | undefined,
  newValue: Value | undefined,
  found: Record<string, ChangeKind>,
) {
  const before = oldValue === undefined ? undefined : withoutSecrets(oldValue);
  const after = newValue === undefined ? undefined : withoutSecrets(newValue);
  if (same(before, after, false)) return;
  if (before === undefined) found[showPath(path)] = "add";
  else if (after === undefined) found[showPath(path)] = "delete";
  else if (isMap(before) && isMap(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      walk([...path, key], before[key], after[key], found);
    }
  } else if (isList(before) && isList(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++)
      walk([...path, i], before[i], after[i], found);
  } else found[showPath(path)] = "update";
}

/** Compares inputs for a provider that leaves the comparison to the engine. */
export function compareInputs(
  olds: Values,
  news: Values,
  ignoreChanges: readonly string[],
): Pick<Diff, "changes" | "changed" | "detailed"> {
  const detailed = detailedDiff(olds, keepIgnored(olds, news, ignoreChanges));
  return { changes: Object.keys(detailed).length > 0, changed: topLevel(detailed), detailed };
}

function topLevel(detailed: Readonly<Record<string, ChangeKind>>): string[] {
  return [...new Set(Object.keys(detailed).map((path) => String(parsePath(path)[0])))];
}

export function keepIgnored(olds: Values, news: Values, ignoreChanges: readonly string[]): Values {
  return ignoreChanges.reduce((inputs, path) => reset(parsePath(path), olds, inputs), news);
}

const initErrorKey = "#initerror";

/** Turns changes at the paths of `replaceOnChanges` into a replacement. */
export function applyReplaceOnChanges(diff: Diff, paths: readonly string[], hasInitErrors: boolean): Diff {
  if ((!diff.changes && !hasInitErrors) || paths.length === 0) return diff;
  const patterns = paths.map(parsePath);
  const named = (path: Path) => patterns.some((pattern) => contains(pattern, path));
  const forced = [
    ...diff.changed.filter((key) => named([key])),
    ...Object.keys(diff.detailed).filter((path) => named(parsePath(path))),
  ].map((path) => String(parsePath(path)[0]));
  const byInitErrors = hasInitErrors && named([initErrorKey]);
  const replaces = new Set([...diff.replaces, ...forced, ...(byInitErrors ? [initErrorKey] : [])]);
  return { ...diff, changes: diff.changes || byInitErrors, replaces: [...replaces] };
}

/** Reverses a diff, because refresh shows the changes that an update would undo. */
export function invert(diff: Diff): Diff {
  const opposite: Record<ChangeKind, ChangeKind> = { add: "delete", delete: "add", update: "update" };
  const detailed = Object.fromEntries(
    Object.entries(diff.detailed).map(([path, kind]) => [path, opposite[kind]]),
  );
  return { ...diff, detailed };
}
