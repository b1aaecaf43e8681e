/** The property paths that the resource option `ignoreChanges` lists: `flavor`, `labels.env`, `labels["a.b"]`, `labels[*]` or `*`. */
export type Ignored = readonly string[];

/**
 * Whether a property is ignored. A path covers everything below it; one that ends in `*` also covers what all of that is in.
 *
 * @param property its steps: `["labels", "env"]`
 */
export function isIgnored(ignored: Ignored, property: readonly string[]): boolean {
  const covers = (path: ReturnType<typeof stepsOf>): boolean =>
    path.length > 0 && path.every((step, at) => step === "*" || step === property[at]);
  return ignored.map(stepsOf).some(covers);
}

/** Whether a property, or anything in it, is ignored. */
export function isPartlyIgnored(ignored: Ignored, name: string): boolean {
  return ignored.some((path) => ["*", name].includes(String(stepsOf(path)[0])));
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
