import type { Properties } from "../host";
import { type Field, labelsOf } from "../values/fields";
import { isUnknown } from "./unknowns";

/** The property paths that the resource options `ignoreChanges` and `replaceOnChanges` list: `flavor`, `labels.env`, `labels["a.b"]`, `labels[*]` or `*`. */
export type Paths = readonly string[];

/** The options that decide what a change of an argument, or a replacement, leads to. */
export interface Options {
  readonly ignoreChanges?: Paths | undefined;
  readonly replaceOnChanges?: Paths | undefined;
}

/**
 * Whether a property is ignored. A path covers everything below it; one that ends in `*` also covers what all of that is in.
 *
 * @param property its steps: `["labels", "env"]`
 */
export function isIgnored(ignored: Paths, property: readonly string[]): boolean {
  const covers = (path: ReturnType<typeof stepsOf>): boolean =>
    path.length > 0 && path.every((step, at) => step === "*" || step === property[at]);
  return ignored.map(stepsOf).some(covers);
}

/** Whether a property, or anything in it, is ignored. */
export function isPartlyIgnored(ignored: Paths, name: string): boolean {
  return ignored.some((path) => ["*", name].includes(String(stepsOf(path)[0])));
}

/**
 * The inputs with the ignored arguments, and the ignored labels, as they were before. The engine does the same, except for a replacement, but
 * with its inputs: after a failure, these may have another value than the object.
 */
export function keepingIgnored(
  fields: readonly Field[],
  ignored: Paths,
  { olds, news }: { olds: Properties; news: Properties },
): Properties {
  const kept = fields.flatMap(({ name, type }): [string, unknown][] => {
    if (isIgnored(ignored, [name])) return [[name, olds[name]]];
    if (type !== "labels" || isUnknown(news[name]) || !isPartlyIgnored(ignored, name)) return [];
    const isLeft = ([key]: [string, unknown]): boolean => isIgnored(ignored, [name, key]);
    const labels = [
      ...Object.entries(labelsOf(olds[name])).filter(isLeft),
      ...Object.entries(labelsOf(news[name])).filter((label) => !isLeft(label)),
    ];
    return [[name, labels.length === 0 ? news[name] && {} : Object.fromEntries(labels)]];
  });
  return kept.length === 0 ? news : { ...news, ...Object.fromEntries(kept) };
}

/** The fields, of which a change of those that the option `replaceOnChanges` lists replaces the resource. */
export function replacing(fields: readonly Field[], paths: Paths = []): readonly Field[] {
  return fields.map((field) => (isIgnored(paths, [field.name]) ? { ...field, change: "replace" } : field));
}

/** A string in brackets, an index or `*` in brackets, or a name. */
const STEP = /\["((?:\\"|[^"])*)"\]|\[([^\]]*)\]|([^.[]+)/g;

/** The steps of a path, as Pulumi parses it. An index is a number, so it is no label key. */
function stepsOf(path: string): (string | number)[] {
  return [...path.matchAll(STEP)].map(([, quoted, index, name = ""]) => {
    if (quoted !== undefined) return quoted.replaceAll('\\"', '"');
    if (index !== undefined) return index === "*" ? index : Number(index);
    return name;
  });
}
