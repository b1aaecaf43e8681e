import { createHash } from "node:crypto";
import type { Arguments, Field, Json, RemoteValues, WireFields } from "./fields";
import { labelsOf, remoteKeysOf } from "./labels";

const DIGEST_CHARACTERS = 12;

/**
 * Returns digests of the object's unmanaged fields, which show whether somebody has changed one of them since. Fields that the reply omits are
 * unchanged.
 */
export function digestUnmanagedFields(
  fields: readonly Field[],
  values: Arguments,
  object: WireFields,
  before: RemoteValues = {},
): RemoteValues | undefined {
  const found = fields.flatMap((field): [string, Json][] => {
    const digest =
      object[field.wire] === undefined ? before[field.name] : digestOf(unmanagedValue(field, values, object));
    const isManaged = field.type !== "labels" && values[field.name] !== undefined;
    return isManaged || digest === undefined ? [] : [[field.name, digest]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Returns the remote value of an unmanaged field. For labels, returns the unmanaged ones. */
function unmanagedValue(field: Field, values: Arguments, object: WireFields): Json {
  const { name, wire, type } = field;
  if (type !== "labels") return object[wire];
  const shown = labelsOf(object[wire]);
  const own = new Set(remoteKeysOf(field, shown, Object.keys(labelsOf(values[name]))).values());
  const others = Object.entries(shown).filter(([key]) => !own.has(key));
  return others.sort(([a], [b]) => (a < b ? -1 : 1));
}

function digestOf(value: unknown): string | undefined {
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return undefined;
  const text = JSON.stringify(value, (_key, inner) => (typeof inner === "number" ? String(inner) : inner));
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_CHARACTERS);
}
