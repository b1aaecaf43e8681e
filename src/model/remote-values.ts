import { isUnassigned, meansNoAddress } from "./addresses";
import { isReference, isSameJson, type Labels, labelsOf, referencedValue, sameValue } from "./changes";
import {
  type Arguments,
  type Field,
  isMap,
  type Json,
  type Kind,
  type RemoteValues,
  type WireFields,
} from "./resource-fields";
import type { Recorded } from "./state";

/** Returns the remote value of a field, or `undefined` if the reply omits it. Labels include only the keys in `managed` values. */
export function remoteValueOf(field: Field, object: WireFields, ...managed: unknown[]): unknown {
  const remote =
    field.type === "text" ? remoteTextOf(field, object[field.wire], ...managed) : object[field.wire];
  // A field that requires a replacement can't be empty, so null proves nothing.
  if (remote === undefined || (remote === null && field.change === "replace")) return undefined;
  if (isUnreadable(field, remote)) return undefined;
  if (field.type === "text") return remote;
  if (field.type === "keys") return remote ?? [];
  const shown = labelsOf(remote);
  const keys = [...new Set(managed.flatMap((value) => Object.keys(labelsOf(value))))];
  const own = [...remoteKeysOf(field, shown, keys)].map(([key, shownKey]) => [key, shown[shownKey]]);
  return Object.fromEntries(own.filter(([, label]) => label !== null));
}

/**
 * Returns the value of a string field or of a reference. An empty string and the address 0.0.0.0 are treated as null. If a boolean
 * replaces the public address, `false` is treated as null, and `true` as the last of the `own` values that isn't a word for "no address".
 */
export function remoteTextOf(field: Field, remote: unknown, ...own: unknown[]): unknown {
  if (remote === "" || (field.addressFields !== undefined && isUnassigned(remote))) return null;
  if (field.addressFields === undefined || typeof remote !== "boolean")
    return referencedValue(field, remote, ...own);
  return remote ? (own.findLast((value) => !meansNoAddress(value ?? null)) ?? remote) : null;
}

/** Returns the remote values that differ from the arguments after a create or an update. */
export function remoteValuesAfter(
  fields: readonly Field[],
  values: Arguments,
  object: WireFields,
): RemoteValues {
  const remoteValues: Record<string, Json> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    // References are recorded by their id, because the object that has the name may change.
    const remote = remoteValueOf(field, object, ...(isReference(field) ? [] : [value]));
    if (remote !== undefined && !sameValue(field, remote, value)) remoteValues[field.name] = remote;
  }
  return remoteValues;
}

/**
 * Returns the state with the values of the program that are equal to recorded remote values, if a change would require a replacement. An
 * example is the id of an image, which the program contains instead of the name.
 */
export function withRemoteForm(fields: readonly Field[], olds: Recorded, news: Arguments): Recorded {
  const { remoteValues = {} } = olds;
  const isSame = ({ name, change }: Field): boolean =>
    change === "replace" && Object.hasOwn(remoteValues, name) && isSameJson(remoteValues[name], news[name]);
  return { ...olds, ...Object.fromEntries(fields.filter(isSame).map(({ name }) => [name, news[name]])) };
}

/** An applied value, and its remote value (`word`) if it differs. `word` is missing if another user may have changed it before any read. */
export interface Applied {
  readonly value: unknown;
  readonly word?: unknown;
}

/** Returns the value that was applied before another user changed the property. */
export function appliedIn(applied: Readonly<Record<string, Json>>, name: string): Applied | undefined {
  const pair: unknown = Object.hasOwn(applied, name) ? applied[name] : undefined;
  return typeof pair === "object" && pair !== null && "value" in pair ? pair : undefined;
}

/** Converts a remote value to the form of an argument. Returns `undefined` for a missing value. */
export function toProgramValue(field: Field, remote: unknown): unknown {
  if (remote === null || remote === undefined || isUnreadable(field, remote)) return undefined;
  if (field.type === "text") return toText(referencedValue(field, remote));
  if (field.type === "keys") return remote;
  const labels = Object.entries(labelsOf(remote)).filter(([, label]) => label !== null);
  return Object.fromEntries(labels.map(([key, label]) => [key, toText(label)]));
}

function toText(remote: unknown): string {
  return typeof remote === "string" ? remote : JSON.stringify(remote);
}

/** Reports whether labels have an unknown form. */
export function isUnreadable({ type }: Field, remote: unknown): boolean {
  return type === "labels" && remote !== undefined && remote !== null && !isMap(remote);
}

/**
 * Maps each label key in the program to its remote key. If the object doesn't have the key itself, the remote key is the key in lower case,
 * unless the service preserves the case. If the object has one of the keys with its capital letters, the service preserves the case.
 */
export function remoteKeysOf(
  { keepsCase = false }: Pick<Field, "keepsCase">,
  shown: Labels,
  own: readonly string[],
): ReadonlyMap<string, string> {
  const isExact = keepsCase || own.some((key) => key !== key.toLowerCase() && Object.hasOwn(shown, key));
  return new Map(
    own.flatMap((key): [string, string][] => {
      if (Object.hasOwn(shown, key)) return [[key, key]];
      const folded = key.toLowerCase();
      return isExact || !Object.hasOwn(shown, folded) || own.includes(folded) ? [] : [[key, folded]];
    }),
  );
}

/** Returns a copy of the kind with case-sensitive label keys. */
export function withCaseSensitiveKeys(kind: Kind): Kind {
  const exact = (field: Field): Field => (field.type === "labels" ? { ...field, keepsCase: true } : field);
  return kind.fields.some(({ type }) => type === "labels")
    ? { ...kind, fields: kind.fields.map(exact) }
    : kind;
}

/** Returns the context with case-sensitive label keys, if the state records that the service preserves the case. */
export function withRecordedKeyCase<Call extends { readonly kind: Kind }>(
  context: Call,
  state: Recorded,
): Call {
  return state.keepsCase ? { ...context, kind: withCaseSensitiveKeys(context.kind) } : context;
}
