import { createHash } from "node:crypto";
import type { Properties } from "../host";
import { type Field, labelsOf } from "./fields";
import { shownKeys } from "./label-keys";
import type { WireFields } from "./words";

const DIGITS = 12;

/**
 * What an object has in fields that the program does not set, field by field, each as a digest: enough to tell whether somebody
 * has changed it since. What a reply does not carry is as before.
 */
export function unmanagedIn(
  fields: readonly Field[],
  values: Properties,
  object: WireFields,
  before: Properties = {},
): Properties | undefined {
  const found = fields.flatMap((field): [string, unknown][] => {
    const digest =
      object[field.wire] === undefined ? before[field.name] : digestOf(unmanagedValue(field, values, object));
    const isManaged = field.type !== "labels" && values[field.name] !== undefined;
    return isManaged || digest === undefined ? [] : [[field.name, digest]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The service's value of a field; of labels, those that the program does not set. */
function unmanagedValue({ name, wire, type }: Field, values: Properties, object: WireFields): unknown {
  if (type !== "labels") return object[wire];
  const shown = labelsOf(object[wire]);
  const own = new Set(shownKeys(shown, Object.keys(labelsOf(values[name]))).values());
  const others = Object.entries(shown).filter(([key]) => !own.has(key));
  return others.sort(([a], [b]) => (a < b ? -1 : 1));
}

function digestOf(value: unknown): string | undefined {
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return undefined;
  const text = JSON.stringify(value, (_key, inner) => (typeof inner === "number" ? String(inner) : inner));
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}
