import { accessor } from "../diagnostics/problem";
import {
  addressBeside,
  addressesIn,
  asksForAddress,
  hasLostAddress,
  isAddress,
  isPrivate,
  isShownByAddress,
  isUnspecifiedMode,
  meansNoAddress,
} from "./addresses";
import { isChanged, isReference, isSameJson, type Labels, labelsOf, sameValue, sshKeysIn } from "./changes";
import { type Applied, appliedIn, remoteValueOf } from "./remote-values";
import { type Arguments, type Field, isMap, type WireFields } from "./resource-fields";
import type { DesiredArguments, Recorded } from "./state";

/** A managed property in the state, in the service and in the program. Labels are compared one by one if the reply contains labels. */
export interface ComparedProperty {
  readonly field: Field;
  /** The path of the property in the program, as a list of steps and as a string. */
  readonly path: readonly string[];
  readonly property: string;
  /** The value in the state, and the recorded remote value. */
  readonly inState: unknown;
  readonly known: unknown;
  /** The applied value, if another user has changed the property and a refresh has accepted that change. */
  readonly applied?: Applied | undefined;
  /** The current remote value. If `isShown` is false, the reply omits the field, which proves nothing about the value. */
  readonly now: unknown;
  readonly isShown: boolean;
  readonly desired: unknown;
  readonly ipAddress?: unknown;
  readonly object: WireFields;
}

/**
 * Compares the state, the object and the inputs property by property.
 *
 * @param options.isAfterUpdate whether the object was read after an update with the inputs. A new label may then have a key in lower case.
 * Before the update, such a key belongs to another user, unless the service returns other keys of the program in lower case
 */
export function compareProperties(
  fields: readonly Field[],
  wanted: {
    readonly olds: Arguments & Pick<Recorded, "remoteValues" | "applied" | "ipAddress">;
    readonly news: DesiredArguments;
  },
  object: WireFields,
  { isAfterUpdate = false } = {},
): ComparedProperty[] {
  const { remoteValues = {}, applied = {} } = wanted.olds;
  return fields.flatMap((field) => {
    const { [field.name]: inState, ipAddress } = wanted.olds;
    const desired = wanted.news[field.name];
    // An empty map manages no labels.
    const isAny = (value: unknown): boolean =>
      field.type === "labels" ? entriesOf(value).size > 0 : value !== undefined;
    if (![inState, desired].some(isAny)) return [];
    const recorded = { ipAddress, applied: appliedIn(applied, field.name) };
    const address = addressBeside(field, inState, object, recorded);
    // The field may be null with or without the pinned address. Comparing the field wouldn't reveal that the address is lost.
    const isLost = isAddress(inState) && hasLostAddress(field, inState, object) === true;
    const hasWord = address === undefined && !isLost && Object.hasOwn(remoteValues, field.name);
    const known = hasWord ? remoteValues[field.name] : inState;
    // Another object may have the same name. If the service returns ids, and the program doesn't change the reference, only the recorded id
    // identifies the object. Links may contain ids or names.
    const isRecorded = (known ?? null) !== null;
    const isId =
      isReference(field) && isMap(object[field.wire]) && isRecorded && !String(known).includes("/");
    const isKept = isId && !isChanged(field, inState, desired);
    const managed = [...(isKept ? [] : [desired]), known, ...(isId ? [] : [inState])];
    const now = address ?? remoteValueOf(field, object, ...managed);
    const isShown = now !== undefined;
    const compared = { field, inState, known, now, isShown, desired, object };
    if (field.type === "labels" && isShown)
      return eachKey(compared, labelsOf(applied[field.name]), isAfterUpdate);
    return [{ ...compared, ...recorded, path: [field.name], property: field.name }];
  });
}

function eachKey(
  { field, isShown, object, ...labels }: Omit<ComparedProperty, "path" | "property">,
  applied: Labels,
  isAfterUpdate: boolean,
): ComparedProperty[] {
  const inState = entriesOf(labels.inState);
  const known = entriesOf(labels.known);
  const now = entriesOf(labels.now);
  const desired = entriesOf(labels.desired);
  const shown = entriesOf(object[field.wire]);
  const isFolding = isAfterUpdate || [...inState.keys()].some((key) => now.has(key) && !shown.has(key));
  const isOwn = (key: string): boolean => isFolding || inState.has(key) || shown.has(key);
  return [...new Set([...inState.keys(), ...desired.keys()])].sort().map((key) => ({
    field,
    path: [field.name, key],
    property: field.name + accessor(key),
    inState: inState.get(key),
    applied: appliedIn(applied, key),
    known: known.has(key) || !now.has(key) ? known.get(key) : inState.get(key), // the recorded key may be in lower case
    now: isOwn(key) ? now.get(key) : undefined,
    isShown,
    desired: desired.get(key),
    object,
  }));
}

export const isToChange = ({ field, inState, desired }: ComparedProperty): boolean =>
  isChanged(field, inState, desired);

/** Reports whether the object has the desired value, regardless of which user has set it. */
export const hasDesiredValue = (compared: ComparedProperty): boolean =>
  compared.isShown &&
  (sameValue(compared.field, compared.now, compared.desired) ||
    isInSameCase(compared) ||
    isAsApplied(compared) ||
    isWithoutAddress(compared, compared.desired) ||
    (isShownByAddress(compared.field, compared.desired, compared.object) && !isOtherAddress(compared)) ||
    isBeside(compared));

/** Reports whether the object has a different address, or a reference to a different address, although the mode is unchanged. */
const isOtherAddress = (compared: ComparedProperty): boolean => {
  const { field, inState, known, now } = compared;
  const isOfMode = !isToChange(compared) && known !== inState && (known ?? null) !== null;
  return isOfMode && isAddress(known) === isAddress(now) && !sameValue(field, known, now);
};

/** Reports whether the object has the desired address in addition to a mode, or the desired mode in addition to an address. */
const isBeside = ({ field, desired, object }: ComparedProperty): boolean =>
  field.wire === "public_ip" &&
  !isAddress(object.public_ip) &&
  ((asksForAddress(desired) && asksForAddress(object.public_ip)) ||
    [object.public_ip, ...addressesIn(field, object)].includes(desired));

/** Reports whether the service returned null or a word such as "none" for a missing address, and the given value has the same meaning. */
const isWithoutAddress = ({ field, now, object }: ComparedProperty, value: unknown): boolean =>
  field.wire === "public_ip" &&
  [value ?? "none", now].every(meansNoAddress) &&
  addressesIn(field, object).every(isPrivate);

function isAsApplied({ field, applied, now, desired }: ComparedProperty): boolean {
  return (
    applied?.word !== undefined &&
    sameValue(field, desired, applied.value) &&
    sameValue(field, now, applied.word)
  );
}

/** Reports whether the service has converted the desired value to upper or lower case, in the same way as the recorded value. */
function isInSameCase({ inState, known, now, desired }: ComparedProperty): boolean {
  if (typeof inState !== "string" || typeof desired !== "string" || known === inState) return false;
  const ways = [(text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()];
  return ways.some((way) => way(inState) === known && way(desired) === now);
}

/** Reports whether the object has the desired value. If the program has changed the value, the remote value must also have changed. */
export const isProven = (compared: ComparedProperty): boolean =>
  hasDesiredValue(compared) &&
  !(isToChange(compared) && !isChanged(compared.field, compared.known, compared.now));

export const differsFromDesired = (compared: ComparedProperty): boolean =>
  compared.isShown && !hasDesiredValue(compared);

/** Reports whether the object has a value that is neither recorded nor desired, so that another user has set it. */
export const isChangedByOthers = (compared: ComparedProperty): boolean =>
  compared.isShown &&
  !hasDesiredValue(compared) &&
  ![compared.known, compared.inState].some((value) => sameValue(compared.field, compared.now, value)) &&
  !isWithoutAddress(compared, compared.known) &&
  !isAssignedAddress(compared);

/**
 * Reports whether the service assigned this address after it had returned a mode, such as "auto", or no value. If the state or the reply
 * contains a different address, another user has set this address. An unspecified mode has an address only if the state contains it.
 */
export function isAssignedAddress(compared: ComparedProperty): boolean {
  const { field, inState, known, applied, now, ipAddress, object } = compared;
  if (field.wire !== "public_ip" || applied !== undefined || !isAddress(now)) return false;
  const hasAddress = asksForAddress(inState) || (isUnspecifiedMode(inState) && now === ipAddress);
  const wasMode = hasAddress && ((known ?? null) === null || known === inState);
  const others = [ipAddress, ...addressesIn(field, object)].filter(isAddress);
  return wasMode && others.every((other) => other === now);
}

/** Reports whether all changed properties in the reply have the values that an update requested, perhaps in a normalized form. */
export function isUpdateApplied(
  properties: readonly ComparedProperty[],
  isNormalized: (compared: ComparedProperty) => boolean,
): boolean {
  const changed = properties.filter((compared) => isToChange(compared) && compared.isShown);
  const isChanged = (compared: ComparedProperty): boolean =>
    isChangedByOthers(compared) || compared.applied !== undefined;
  return (
    changed.length > 0 &&
    changed.every((compared) => isProven(compared) || (isChanged(compared) && isNormalized(compared)))
  );
}

function entriesOf(labels: unknown): Map<string, unknown> {
  return new Map(Object.entries(labelsOf(labels)));
}

/** Reports whether the remote value is certainly a form of the desired one: only the case differs, or it is the address of a mode (§2.2). */
export function isNormalizedForm({ field, now, desired, object }: ComparedProperty): boolean {
  if (typeof now !== "string" || typeof desired !== "string") return false;
  if (now.trim().toLowerCase() === desired.trim().toLowerCase()) return true;
  return (
    field.wire === "public_ip" &&
    isAddress(now) &&
    asksForAddress(desired) &&
    // The field still contains the mode if a separate field contains the address.
    addressesIn(field, { ...object, [field.wire]: undefined }).every(isPrivate)
  );
}

/**
 * Reports whether the remote value may be a normalized form of the desired value, which doesn't prove that an update was applied. This
 * applies if the service normalizes the property, and the normalized form of the desired value is unknown.
 */
export function mayBeNormalizedForm(compared: ComparedProperty): boolean {
  const { field, inState, known, applied, now, desired } = compared;
  if (isNormalizedForm(compared)) return true;
  if (desired === undefined || [now, desired].some(isAddress)) return false;
  const isRemembered = inState !== undefined && !sameValue(field, inState, known);
  const others = [isRemembered ? known : undefined, applied?.word];
  if (others.some((word) => word !== undefined && sameValue(field, now, word))) return false;
  if (applied === undefined) return isRemembered;
  return sameValue(field, desired, applied.value) === (applied.word === undefined);
}

/**
 * Reports whether only case, accents, spaces and punctuation differ, as in a slug such as `my-team`. Another value may have the same
 * characters. Other marks, such as those of kana, belong to the letters.
 */
export function hasSameCharacters({ now, desired }: Pick<Compared, "now" | "desired">): boolean {
  if (typeof now !== "string" || typeof desired !== "string" || isAddress(now)) return false;
  const [shown, wanted] = [now, desired].map((text) =>
    text
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}]|[\u0300-\u036f]/gu, ""),
  );
  return shown !== "" && shown === wanted;
}

/**
 * Reports whether the service omits the value although it returns the field: it always returns null, it omits empty labels, or it doesn't
 * return modes that aren't specified.
 */
export function isNotReturned(compared: ComparedProperty): boolean {
  const { field, path, inState, known, now, desired, object } = compared;
  const isNull = (value: unknown): boolean =>
    value === null || (object[field.wire] === null && isSameJson(value, []));
  if (now !== undefined && !isNull(now)) return false;
  if (field.wire === "public_ip") return isUnspecifiedMode(desired);
  return path.length > 1
    ? desired === ""
    : !isNull(inState ?? null) && isNull(known) && desired !== undefined;
}

/**
 * Reports whether the remote value can't be a form of the desired value. This applies to a different address, a missing SSH key, or a key
 * that the update removes. Other additional keys are accepted, because the service may add its own keys.
 */
export function contradicts({ field, inState, now, desired }: Compared): boolean {
  if (isAddress(now) && isAddress(desired)) return !sameValue(field, now, desired);
  const [shown, wanted] = [sshKeysIn(now), sshKeysIn(desired)];
  if (field.type !== "keys" || shown === undefined || wanted === undefined) return false;
  const removed = [...(sshKeysIn(inState) ?? [])].filter((key) => !wanted.has(key));
  const isShown = (key: string): boolean => shown.has(key);
  return ![...wanted].every(isShown) || removed.some(isShown);
}

type Compared = Pick<ComparedProperty, "field" | "now" | "desired"> &
  Partial<Pick<ComparedProperty, "inState">>;
