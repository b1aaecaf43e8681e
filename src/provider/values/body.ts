import type { Properties } from "../host";
import { type Ignored, isIgnored } from "../inputs/ignored";
import { type Field, labelsOf } from "./fields";
import type { WireFields } from "./words";

/**
 * The body of a creation request (§2.2, §4.2) as text: a fixed function of the checked inputs, order of fields included,
 * because a repeated request must carry the same body.
 */
export function creationBody(fields: readonly Field[], inputs: Properties): string {
  const body = fields
    .filter((field) => inputs[field.name] !== undefined)
    .map((field) => [field.wire, field.type === "labels" ? sorted(inputs[field.name]) : inputs[field.name]]);
  return JSON.stringify(Object.fromEntries(body));
}

function sorted(labels: unknown): Properties {
  return Object.fromEntries(Object.entries(labelsOf(labels)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The body of an update (§4.5): every field of a creation request and nothing that is read-only. What the program does
 * not manage is taken from the object as it stands, so that a full replacement erases nobody's work.
 */
export function updateBody(
  fields: readonly Field[],
  olds: Properties,
  news: Properties,
  current: WireFields,
  ignored: Ignored = [],
): string {
  const body: Properties = {};
  for (const field of fields) {
    const asItIs = isIgnored(ignored, [field.name]) ? current[field.wire] : undefined;
    const desired =
      field.type === "labels" ? mergedLabels(field, olds, news, current, ignored) : news[field.name];
    const value = asItIs ?? desired ?? whenUnset(field, olds, current);
    if (value !== undefined && value !== null) body[field.wire] = value;
  }
  return JSON.stringify(body);
}

function mergedLabels(
  field: Field,
  olds: Properties,
  news: Properties,
  current: WireFields,
  ignored: Ignored,
): unknown {
  const managedBefore = labelsOf(olds[field.name]);
  const managed = news[field.name];
  if (managed === undefined && olds[field.name] === undefined) return undefined;
  const now = Object.entries(labelsOf(current[field.wire]));
  const isLeft = (key: string): boolean =>
    current[field.wire] !== undefined && isIgnored(ignored, [field.name, key]);
  const kept = now.filter(([key]) => isLeft(key) || !Object.hasOwn(managedBefore, key));
  const own = Object.entries(labelsOf(managed)).filter(([key]) => !isLeft(key));
  return sorted(Object.fromEntries([...kept, ...own]));
}

/** An argument that was set and is no more is emptied or left out; one that never was stays as the service has it. */
function whenUnset(field: Field, olds: Properties, current: WireFields): unknown {
  if (olds[field.name] === undefined) return current[field.wire];
  return field.type === "keys" ? [] : undefined;
}
