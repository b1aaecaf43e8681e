import { hasLostAddress, isAddress } from "./addresses";
import { isSameJson, sameValue } from "./changes";
import { type ComparedProperty, compareProperties, isAssignedAddress } from "./property-comparison";
import { toProgramValue } from "./remote-values";
import type { Arguments, Field, RemoteValues, WireFields } from "./resource-fields";

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
  given: KnownValues,
  object: WireFields,
): DriftResult {
  const { values, remoteValues, applied = {}, ipAddress } = given;
  const recorded = { olds: { ...values, remoteValues, applied, ipAddress }, news: values };
  const managed = fields.filter(({ name }) => values[name] !== undefined);
  const seen = managed.map((field): ComparedValue & { name: string; isOmitted: boolean } => {
    const { name, type } = field;
    const value = values[name];
    const remote = Object.hasOwn(remoteValues, name) ? remoteValues[name] : undefined;
    const unchanged: ComparedValue = { value, remote, applied: applied[name] };
    const properties = compareProperties([field], recorded, object);
    const isShown = properties[0]?.isShown ?? object[field.wire] !== undefined;
    const isLost = hasLostAddress(field, ipAddress, object);
    const isOmitted = !isShown || isLost === undefined;
    const known = remote === undefined ? value : remote;
    const isOtherForm = type !== "labels" && given.isOtherForm?.(field);
    const changes = properties.map((compared) =>
      changeOf(type === "labels" ? compared : { ...compared, known }, isOtherForm),
    );
    const change = type === "labels" ? joined(properties, changes, remote) : changes[0];
    // The field may be null with or without an address. Comparing the field wouldn't reveal that the address is lost.
    if (isLost && isAddress(value) && (properties[0]?.now ?? null) === null)
      return { name, isOmitted, value: undefined, isDrifted: true };
    return { name, isOmitted, ...(change ?? unchanged) };
  });
  const valuesOf = (member: "value" | "remote" | "applied"): RemoteValues =>
    Object.fromEntries(seen.flatMap((one) => (one[member] === undefined ? [] : [[one.name, one[member]]])));
  return {
    values: valuesOf("value") as Arguments,
    remoteValues: valuesOf("remote"),
    applied: valuesOf("applied"),
    drifted: seen.filter(({ isDrifted }) => isDrifted).map(({ name }) => name),
    omitted: seen.filter(({ isOmitted }) => isOmitted).map(({ name }) => name),
  };
}

/** The value of an argument, and its remote value if the two differ. */
interface ComparedValue {
  readonly value: unknown;
  readonly remote?: unknown;
  readonly applied?: unknown;
  readonly isDrifted?: boolean;
}

/** Returns the new value of a property or a label, or `undefined` if nothing has changed. */
function changeOf(compared: ComparedProperty, isOtherForm = false): ComparedValue | undefined {
  const { inState: value, known, applied, now, isShown, path } = compared;
  const field: Field = path.length > 1 ? { ...compared.field, type: "text" } : compared.field;
  if (!isShown || sameValue(field, now, known)) return undefined;
  if (applied?.word !== undefined && sameValue(field, now, applied.word))
    return { value: applied.value, remote: applied.word, isDrifted: !sameValue(field, value, applied.value) };
  if (sameValue(field, now, value) || isSameIgnoringCase(field, now, value)) return undefined; // another reply may contain the recorded form
  if (isOtherForm || isAssignedAddress(compared)) return { value, remote: now, applied };
  const last = sameValue(field, known, value) ? applied : { value, word: known };
  return { value: toProgramValue(field, now), applied: last, isDrifted: true };
}

/** Joins labels, so that unchanged labels keep their values. Returns `undefined` if no label has changed. */
function joined(
  properties: readonly ComparedProperty[],
  changes: readonly (ComparedValue | undefined)[],
  recorded: unknown,
): ComparedValue | undefined {
  if (changes.every((one) => one === undefined)) return undefined;
  const each = properties.map(({ path: [, key = ""], inState, known, applied }, at) => ({
    key,
    ...(changes[at] ?? { value: inState, remote: known, applied }),
  }));
  const isDrifted = changes.some((one) => one?.isDrifted);
  const present = each.filter(({ value }) => value !== undefined);
  const value = Object.fromEntries(present.map((one) => [one.key, one.value]));
  const remote = Object.fromEntries(present.map((one) => [one.key, one.remote ?? one.value]));
  const changed = isSameJson(remote, value) ? undefined : remote;
  const pairs = each.flatMap((one) => (one.applied === undefined ? [] : [[one.key, one.applied]]));
  return {
    value,
    remote: isDrifted ? changed : recorded,
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
