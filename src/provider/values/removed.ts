import type { ApiObject } from "../../api/client";
import type { Properties } from "../host";
import { addressesIn, addressFieldsBeside } from "./addresses";
import type { Field } from "./fields";
import { hiddenOf } from "./state";

/** The output that is the public address: its fields are shown beside the property that asks for it. */
export const ADDRESS_OUTPUT = "ipAddress";

/**
 * Returns the object with null for each field that has been removed. Many services omit what has no value: what the object's own address has
 * shown, and doesn't show since the object has changed, has been removed. What it has never shown may be there.
 */
export function withRemovedFields(fields: readonly Field[], object: ApiObject, state: Properties): ApiObject {
  const { __shown: shown = [], revision } = hiddenOf(state);
  const isChanged = revision !== undefined && object.revision !== undefined && object.revision !== revision;
  if (!object.isFromOwnUrl || !isChanged) return object;
  const removed = fields.filter(
    ({ name, wire }) => shown.includes(name) && object.fields[wire] === undefined,
  );
  const addresses = shown.includes(ADDRESS_OUTPUT)
    ? fields.filter((field) => addressesIn(field, object.fields).length === 0).flatMap(addressFieldsBeside)
    : [];
  const names = [...removed.map(({ wire }) => wire), ...addresses];
  return {
    ...object,
    fields: { ...object.fields, ...Object.fromEntries(names.map((name) => [name, null])) },
  };
}
