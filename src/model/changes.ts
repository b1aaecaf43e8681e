import { isChanged, isSameJson, sameValue } from "./equality";
import { type Arguments, type Field, isUnknown, type Json } from "./fields";
import { labelsOf } from "./labels";

/** Returns the fields that differ. An unknown value differs from every known value. */
export function changedFields(fields: readonly Field[], olds: Arguments, news: Arguments): Field[] {
  return fields.filter((field) => isChanged(field, olds[field.name], news[field.name]));
}

/** Property paths in the options `ignoreChanges` and `replaceOnChanges`, such as `flavor`, `labels.env`, `labels["a.b"]`, `labels[*]` or `*`. */
export type PropertyPaths = readonly string[];

/** The steps of a path. A number is an index, and never a label key. */
type PathSteps = readonly (string | number)[];

/** The resource options that affect how changes are handled. */
export interface ChangeOptions {
  readonly ignoreChanges?: PropertyPaths | undefined;
  readonly replaceOnChanges?: PropertyPaths | undefined;
}

/**
 * Whether `ignoreChanges` covers a property. A path covers everything below it. A path that ends in `*` also covers its parent.
 *
 * @param property the steps to the property, such as `["labels", "env"]`
 */
export function isIgnored(ignored: PropertyPaths, property: PathSteps): boolean {
  const covers = (path: PathSteps): boolean =>
    path.length > 0 && path.every((step, at) => step === "*" || step === property[at]);
  return ignored.map(parsePath).some(covers);
}

/** Whether an option lists an argument, or a property of it. */
export function mentionsProperty(paths: PropertyPaths, name: string): boolean {
  return paths.some((path) => ["*", name].includes(String(parsePath(path)[0])));
}

/**
 * Returns the inputs with the former values of ignored arguments, labels and SSH keys. The engine does the same, but not for replacements,
 * and based on its inputs, which differ from the object after a failure.
 */
export function withIgnoredValues<News extends Arguments>(
  fields: readonly Field[],
  ignored: PropertyPaths,
  { olds, news }: { olds: Arguments; news: News },
): News {
  const kept = fields.flatMap((field): [string, Json][] => {
    const { name, type } = field;
    if (isIgnored(ignored, [name])) return [[name, olds[name]]];
    if (isUnknown(news[name]) || !mentionsProperty(ignored, name)) return [];
    if (type === "keys" && !sameValue(field, olds[name], news[name]))
      return [[name, withIgnoredItems(olds[name], news[name], (at) => isIgnored(ignored, [name, at]))]];
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

/** Returns a list in which ignored items have their former values. */
function withIgnoredItems(old: unknown, now: unknown, isLeft: (at: number) => boolean): unknown {
  if (!Array.isArray(old) || !Array.isArray(now)) return now;
  return now.map((item, at): unknown => (at < old.length && isLeft(at) ? old[at] : item));
}

/** Returns the fields. A change that `replaceOnChanges` covers requires a replacement. */
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

/** Returns the paths of the differences, as Pulumi's engine defines them: an added or removed map or list is one difference. */
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

/** Parses a property path in Pulumi's syntax. */
function parsePath(path: string): PathSteps {
  return [...path.matchAll(STEP)].map(([, quoted, index, name = ""]) => {
    if (quoted !== undefined) return quoted.replaceAll('\\"', '"');
    if (index !== undefined) return index === "*" ? index : Number(index);
    return name;
  });
}
