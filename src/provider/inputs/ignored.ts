import type { Field } from "../values/fields";

/** The properties that the resource option `ignoreChanges` lists: paths such as `flavor`, `labels.env` or `labels["a/b"]`. */
export type Ignored = readonly string[];

/** Whether a property, or the field that it belongs to, is ignored. */
export function isIgnored(ignored: Ignored, field: Field, property: string): boolean {
  return ignored.some((path) => path === field.name || normalized(path) === normalized(property));
}

/** Whether one label is ignored. */
export function isIgnoredLabel(ignored: Ignored, field: Field, key: string): boolean {
  return isIgnored(ignored, field, `${field.name}[${JSON.stringify(key)}]`);
}

/** Writes each step in brackets, as a path may be written in several ways. */
function normalized(path: string): string {
  return path.replaceAll(/\.(\w+)/g, '["$1"]');
}
