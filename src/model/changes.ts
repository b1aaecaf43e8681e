import { isChanged, isSameJson, sameValue } from "./equality";
import { type Arguments, type Field, isUnknown, type Json } from "./fields";
import { labelsOf } from "./labels";

/** Names of the fields in which two sets of properties differ. What is not known yet differs from all that is. */
export function changedFields(fields: readonly Field[], olds: Arguments, news: Arguments): Field[] {
  return fields.filter((field) => isChanged(field, olds[field.name], news[field.name]));
}

/** The property paths that the resource options `ignoreChanges` and `replaceOnChanges` list: `flavor`, `labels.env`, `labels["a.b"]`, `labels[*]` or `*`. */
export type PropertyPaths = readonly string[];

/** The steps of a path. An index is a number, so it is no label key. */
type PathSteps = readonly (string | number)[];

/** The options that decide what a change of an argument, or a replacement, leads to. */
export interface ChangeOptions {
  readonly ignoreChanges?: PropertyPaths | undefined;
  readonly replaceOnChanges?: PropertyPaths | undefined;
}

/**
 * Whether a property is ignored. A path covers everything below it; one that ends in `*` also covers what all of that is in.
 *
 * @param property its steps: `["labels", "env"]`
 */
export function isIgnored(ignored: PropertyPaths, property: PathSteps): boolean {
  const covers = (path: PathSteps): boolean =>
    path.length > 0 && path.every((step, at) => step === "*" || step === property[at]);
  return ignored.map(parsePath).some(covers);
}

/** Whether an option lists a property, or anything in it. */
export function mentionsProperty(paths: PropertyPaths, name: string): boolean {
  return paths.some((path) => ["*", name].includes(String(parsePath(path)[0])));
}

/**
 * The inputs with the ignored arguments, labels and SSH keys as they were before. The engine does the same, except for a replacement, but
 * with its inputs: after a failure, these may have another value than the object.
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

/** A list with those of its ignored items that were in it before. */
function withIgnoredItems(old: unknown, now: unknown, isLeft: (at: number) => boolean): unknown {
  if (!Array.isArray(old) || !Array.isArray(now)) return now;
  return now.map((item, at): unknown => (at < old.length && isLeft(at) ? old[at] : item));
}

/** The fields; a change that the option `replaceOnChanges` lists, or that is within a listed property, makes a field one that replaces. */
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

/** The paths of the differences between two values, as Pulumi's engine has them: an added or removed map or list is one difference. */
function changedPaths(path: PathSteps, old: unknown, now: unknown): PathSteps[] {
  if (isSameJson(old, now)) return [];
  const isList = Array.isArray(old);
  if (typeof old !== "object" || typeof now !== "object" || isList !== Array.isArray(now)) return [path];
  const [before, after] = [new Map(Object.entries(old ?? {})), new Map(Object.entries(now ?? {}))];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) =>
    changedPaths([...path, isList ? Number(key) : key], before.get(key), after.get(key)),
  );
}

/** A string in brackets, an index or `*` in brackets, or a name. */
const STEP = /\["((?:\\"|[^"])*)"\]|\[([^\]]*)\]|([^.[]+)/g;

/** Parses a path as Pulumi does. */
function parsePath(path: string): PathSteps {
  return [...path.matchAll(STEP)].map(([, quoted, index, name = ""]) => {
    if (quoted !== undefined) return quoted.replaceAll('\\"', '"');
    if (index !== undefined) return index === "*" ? index : Number(index);
    return name;
  });
}
