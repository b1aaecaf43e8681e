import { addressBeside, hasLostAddress, isAddress, isLateAddress, meansNoAddress } from "./addresses";
import { isSameJson, referencedValue, sameValue } from "./changes";
import { isUnreadable, labelsOf, remoteKeysOf } from "./labels";
import type { Arguments, Field, Json, RemoteValues, WireFields } from "./resource-fields";

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
 * Returns the value of a string field or of a reference. An empty string is treated as null. If a boolean replaces the public address,
 * `false` is treated as null, and `true` as the last of the `own` values that isn't a word for "no address".
 */
export function remoteTextOf(field: Field, remote: unknown, ...own: unknown[]): unknown {
  if (remote === "") return null;
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
    const isReference = field.type === "text" && field.addressFields === undefined;
    // Other references are recorded by their id, because the object that has the name may change.
    const remote = remoteValueOf(field, object, ...(isReference ? [] : [value]));
    if (remote !== undefined && !sameValue(field, remote, value)) remoteValues[field.name] = remote;
  }
  return remoteValues;
}

/** An applied value, and its remote value (`word`) if it differs. `word` is missing if another user may have changed it before any read. */
export interface Applied {
  readonly value: unknown;
  readonly word?: unknown;
}

/** Returns the value that was applied before another user changed the property. */
export function appliedIn(applied: Readonly<Record<string, Json>>, name: string): Applied | undefined {
  const pair: unknown = Object.hasOwn(applied, name) ? applied[name] : undefined;
  return isApplied(pair) ? pair : undefined;
}

function isApplied(pair: unknown): pair is Applied {
  return typeof pair === "object" && pair !== null && "value" in pair;
}

export interface DriftResult {
  /** The arguments, with remote values for all arguments that another user has changed. */
  readonly values: Arguments;
  readonly remoteValues: RemoteValues;
  /** The applied values of changed arguments, if their remote values are known. */
  readonly applied: RemoteValues;
  /** The names of the arguments that another user has changed, and of the arguments that the reply omits. */
  readonly drifted: readonly string[];
  readonly omitted: readonly string[];
}

/** The values that the state records for the managed arguments. */
interface KnownValues {
  readonly values: Arguments;
  readonly remoteValues: RemoteValues;
  readonly applied?: RemoteValues;
  readonly ipAddress?: unknown;
  /** Reports whether a different value of a field can only be another form of the recorded value. */
  readonly isOtherForm?: (field: Field) => boolean;
}

/** Compares an object with the recorded remote values. Arguments without a value are unmanaged. */
export function compareRemoteValues(
  fields: readonly Field[],
  known: KnownValues,
  object: WireFields,
): DriftResult {
  const values: Record<string, Json> = {};
  const remoteValues: Record<string, Json> = {};
  const applied: Record<string, Json> = {};
  const drifted: string[] = [];
  const omitted: string[] = [];
  for (const field of fields) {
    const { name } = field;
    const value = known.values[name];
    if (value === undefined) continue;
    const remote = Object.hasOwn(known.remoteValues, name) ? known.remoteValues[name] : undefined;
    const { applied: all = {}, ipAddress } = known;
    const isOtherForm = known.isOtherForm?.(field);
    const address = addressBeside(field, value, object, { ipAddress, applied: appliedIn(all, name) });
    const now = address ?? remoteValueOf(field, object, value, remote);
    const isLost = hasLostAddress(field, ipAddress, object);
    if (now === undefined || isLost === undefined) omitted.push(name);
    // The field may be null with or without an address. Comparing the field wouldn't reveal that the address is lost.
    const seen: ComparedValue =
      isLost && (now ?? null) === null && isAddress(value)
        ? { value: undefined, isDrifted: true }
        : compareField(
            field,
            { value, word: remote, applied: all[name], ipAddress, isOtherForm },
            now,
            object,
          );
    if (seen.isDrifted) drifted.push(name);
    if (seen.value !== undefined) values[name] = seen.value;
    if (seen.word !== undefined) remoteValues[name] = seen.word;
    if (seen.applied !== undefined) applied[name] = seen.applied;
  }
  return { values, remoteValues, applied, drifted, omitted };
}

/** The value of an argument, and its remote value if the two differ. */
interface ComparedValue {
  readonly value: unknown;
  readonly word?: unknown;
  readonly applied?: unknown;
  readonly isDrifted?: boolean;
}

type KnownValue = Omit<ComparedValue, "isDrifted"> &
  Pick<KnownValues, "ipAddress"> & { readonly isOtherForm?: boolean | undefined };

function compareField(field: Field, given: KnownValue, now: unknown, object: WireFields): ComparedValue {
  if (now === undefined) return given;
  if (field.type === "labels") return compareLabels(field, given, now, object);
  const applied = isApplied(given.applied) ? given.applied : undefined;
  const known = { ...given, applied };
  const { value, word: remote } = known;
  const isRemembered = remote !== undefined;
  if (sameValue(field, now, isRemembered ? remote : value)) return known;
  if (applied?.word !== undefined && sameValue(field, now, applied.word))
    return { value: applied.value, word: applied.word };
  if (sameValue(field, now, value) || isSameIgnoringCase(field, now, value)) return known; // another reply may contain the recorded form
  if (known.isOtherForm || isLateAddress(field, known, now, object)) return { ...known, word: now };
  const last = isRemembered ? { value, word: remote } : applied;
  return { value: toProgramValue(field, now), applied: last, isDrifted: true };
}

/** Compares labels one by one, so that unchanged labels keep their values. */
function compareLabels(field: Field, known: KnownValue, now: unknown, object: WireFields): ComparedValue {
  const [shown, remoteValues, applied] = [labelsOf(now), labelsOf(known.word), labelsOf(known.applied)];
  const label: Field = { ...field, type: "text" };
  const each = Object.entries(labelsOf(known.value)).map(([key, value]) => {
    const isLost =
      known.word !== undefined && !Object.hasOwn(remoteValues, key) && !Object.hasOwn(shown, key);
    const remote = Object.hasOwn(remoteValues, key) ? remoteValues[key] : isLost ? null : undefined;
    const pair = { value, word: remote, applied: appliedIn(applied, key) };
    return { key, ...compareField(label, pair, Object.hasOwn(shown, key) ? shown[key] : null, object) };
  });
  const isDrifted = each.some((one) => one.isDrifted);
  const present = each.filter(({ value }) => value !== undefined);
  const value = Object.fromEntries(present.map((one) => [one.key, one.value]));
  const remote = Object.fromEntries(present.map((one) => [one.key, one.word ?? one.value]));
  const pairs = each.flatMap((one) => (one.applied === undefined ? [] : [[one.key, one.applied]]));
  return {
    value,
    word: isDrifted ? (isSameJson(remote, value) ? undefined : remote) : known.word,
    applied: pairs.length === 0 ? undefined : Object.fromEntries(pairs),
    isDrifted,
  };
}

/**
 * Reports whether a different remote value is certainly a normalized form of the argument. In fields that require a replacement, a
 * difference in case is never drift. The reply to the creation may not have contained the normalized form.
 */
function isSameIgnoringCase({ change, isFixed }: Field, remote: unknown, value: unknown): boolean {
  if (change !== "replace" || typeof remote !== "string" || typeof value !== "string") return false;
  return isFixed || remote.trim().toLowerCase() === value.trim().toLowerCase();
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
