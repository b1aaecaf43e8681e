import type { ApiObject } from "../api/client";
import { propertyPath } from "../diagnostics/format";
import {
  addressBeside,
  addressesIn,
  asksForAddress,
  isAddress,
  isLateAddress,
  isPrivate,
  isShownByAddress,
  meansNoAddress,
} from "./addresses";
import { isChanged, sameValue, sshKeysIn } from "./equality";
import type { Arguments, Field, WireFields } from "./fields";
import { type Labels, labelsOf } from "./labels";
import { type Applied, appliedIn, remoteValueOf } from "./remote-values";
import type { DesiredArguments, Recorded } from "./state";

/** The three sides of one property that the program manages; of labels that are shown, of each key by itself. */
export interface PropertySides {
  readonly field: Field;
  /** The steps to the property in the program, and the path that they make. */
  readonly path: readonly string[];
  readonly property: string;
  /** The state's value, and the service's word for it after the last apply. */
  readonly inState: unknown;
  readonly known: unknown;
  /** What the program applied before somebody changed the property, and a refresh accepted that. */
  readonly applied?: Applied | undefined;
  /** The service's word now; `isShown` is false where the reply does not carry the field, which says nothing about it. */
  readonly now: unknown;
  readonly isShown: boolean;
  readonly desired: unknown;
  /** The address that the state has. */
  readonly ipAddress?: unknown;
  /** All that the reply carries. */
  readonly object: WireFields;
}

/** What a comparison is made of: the state, and the inputs. */
export interface ComparedInputs {
  readonly olds: Arguments & Pick<Recorded, "remoteValues" | "applied" | "ipAddress">;
  readonly news: DesiredArguments;
}

/** State, service and program beside each other, property by property. */
export function sidesOf(
  fields: readonly Field[],
  wanted: ComparedInputs,
  object: WireFields,
): PropertySides[] {
  const { remoteValues: words = {}, applied = {} } = wanted.olds;
  return fields.flatMap((field) => {
    const [inState, desired] = [wanted.olds[field.name], wanted.news[field.name]];
    // An empty map of labels manages none.
    const isAny = (value: unknown): boolean =>
      field.type === "labels" ? entriesOf(value).size > 0 : value !== undefined;
    if (![inState, desired].some(isAny)) return [];
    const address = addressBeside(field, inState, object);
    const hasWord = address === undefined && Object.hasOwn(words, field.name);
    const known = hasWord ? words[field.name] : inState;
    const now = address ?? remoteValueOf(field, object, inState, desired, known);
    const isShown = now !== undefined;
    const path = [field.name];
    const { ipAddress } = wanted.olds;
    const side = {
      field,
      path,
      property: field.name,
      inState,
      known,
      now,
      isShown,
      desired,
      ipAddress,
      object,
    };
    if (field.type === "labels" && isShown) return eachKey(side, labelsOf(applied[field.name]));
    return [{ ...side, applied: appliedIn(applied, field.name) }];
  });
}

function eachKey({ field, isShown, object, ...labels }: PropertySides, applied: Labels): PropertySides[] {
  const inState = entriesOf(labels.inState);
  const known = entriesOf(labels.known);
  const now = entriesOf(labels.now);
  const desired = entriesOf(labels.desired);
  return [...new Set([...inState.keys(), ...desired.keys()])].sort().map((key) => ({
    field,
    path: [field.name, key],
    property: labelPath(field, key),
    inState: inState.get(key),
    applied: appliedIn(applied, key),
    known: known.has(key) || !now.has(key) ? known.get(key) : inState.get(key), // it may not have been recognized
    now: now.get(key),
    isShown,
    desired: desired.get(key),
    object,
  }));
}

export const isToChange = ({ field, inState, desired }: PropertySides): boolean =>
  isChanged(field, inState, desired);

/** The service has what the program asks for, whoever put it there. */
export const hasDesiredValue = (side: PropertySides): boolean =>
  side.isShown &&
  (sameValue(side.field, side.now, side.desired) ||
    isInSameCase(side) ||
    isAsApplied(side) ||
    isWithoutAddress(side, side.desired) ||
    isShownByAddress(side.field, side.desired, side.object) ||
    isBeside(side));

/** Whether the service shows the desired address beside the mode that led to it, such as "auto", or the desired mode beside an address. */
const isBeside = ({ field, desired, object }: PropertySides): boolean =>
  field.wire === "public_ip" &&
  !isAddress(object.public_ip) &&
  [object.public_ip, ...addressesIn(field, object)].includes(desired);

/** Whether the service shows null or a word such as "none" because there is no address, as in a state or program without one. */
const isWithoutAddress = ({ field, now, object }: PropertySides, value: unknown): boolean =>
  field.wire === "public_ip" &&
  [value ?? "none", now].every(meansNoAddress) &&
  addressesIn(field, object).every(isPrivate);

function isAsApplied({ field, applied, now, desired }: PropertySides): boolean {
  return (
    applied?.word !== undefined &&
    sameValue(field, desired, applied.value) &&
    sameValue(field, now, applied.word)
  );
}

/** Whether the service, which shows the state's value in capital or small letters only, shows the desired value in the same way. */
function isInSameCase({ inState, known, now, desired }: PropertySides): boolean {
  if (typeof inState !== "string" || typeof desired !== "string" || known === inState) return false;
  const ways = [(text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()];
  return ways.some((way) => way(inState) === known && way(desired) === now);
}

/** The service shows the desired value, and showed the former value differently. */
export const isProven = (side: PropertySides): boolean =>
  hasDesiredValue(side) && !(isToChange(side) && !isChanged(side.field, side.known, side.now));

/** The service shows something else than the program asks for. */
export const differsFromDesired = (side: PropertySides): boolean => side.isShown && !hasDesiredValue(side);

/** The service has something that is neither what the state knows nor what the program asks for. */
export const isChangedByOthers = (side: PropertySides): boolean =>
  side.isShown &&
  !hasDesiredValue(side) &&
  !sameValue(side.field, side.now, side.known) &&
  !isWithoutAddress(side, side.known) &&
  !isAssignedAddress(side);

const isAssignedAddress = ({
  field,
  inState: value,
  known: word,
  now,
  object,
  ...more
}: PropertySides): boolean => isLateAddress(field, { value, word, ...more }, now, object);

/** Whether all that an update changes is there, as far as it is shown, at least as normalized by the service. */
export function isUpdateApplied(
  sides: readonly PropertySides[],
  isNormalized: (side: PropertySides) => boolean,
): boolean {
  const changed = sides.filter((side) => isToChange(side) && side.isShown);
  const isChanged = (side: PropertySides): boolean => isChangedByOthers(side) || side.applied !== undefined;
  return (
    changed.length > 0 && changed.every((side) => isProven(side) || (isChanged(side) && isNormalized(side)))
  );
}

function entriesOf(labels: unknown): Map<string, unknown> {
  return new Map(Object.entries(labelsOf(labels)));
}

function labelPath({ name }: Field, key: string): string {
  const pointer = `/${name}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return propertyPath({ pointer }, (first) => first) ?? name;
}

/**
 * Whether the remote value is the desired one as normalized by the service: only the case differs, or an address stands for
 * "auto" (§2.2).
 */
export function isNormalizedForm({ field, now, desired, object }: PropertySides): boolean {
  if (typeof now !== "string" || typeof desired !== "string") return false;
  if (now.trim().toLowerCase() === desired.trim().toLowerCase()) return true;
  return (
    field.wire === "public_ip" &&
    isAddress(now) &&
    asksForAddress(desired) &&
    !hasAddressBeside(field, object)
  );
}

/**
 * Whether the remote value may be the desired one as normalized by the service, which has normalized the value before. Any value
 * may be, so this is no evidence of an update that isn't known to have been carried out.
 */
export function mayBeNormalizedForm(side: PropertySides): boolean {
  const { now, desired } = side;
  if (isNormalizedForm(side)) return true;
  return desired !== undefined && ![now, desired].some(isAddress) && hasUnknownRemoteValue(side);
}

/** Whether the service has another word than the program for a value of the property, and none that is known for the desired one. */
function hasUnknownRemoteValue({ field, inState, known, applied, now, desired }: PropertySides): boolean {
  const isRemembered = inState !== undefined && !sameValue(field, inState, known);
  const others = [isRemembered ? known : undefined, applied?.word];
  if (others.some((word) => word !== undefined && sameValue(field, now, word))) return false;
  if (applied !== undefined) return sameValue(field, desired, applied.value) === (applied.word === undefined);
  return isRemembered;
}

/**
 * Whether the remote value can't stand for the desired one: it is another address, or it lacks SSH keys, or it has all those that are to be
 * removed. Further keys may be the service's own.
 */
export function contradicts({ field, inState, now, desired }: Compared): boolean {
  if (isAddress(now) && isAddress(desired)) return !sameValue(field, now, desired);
  const [shown, wanted] = [sshKeysIn(now), sshKeysIn(desired)];
  if (field.type !== "keys" || shown === undefined || wanted === undefined) return false;
  const removed = [...(sshKeysIn(inState) ?? [])].filter((key) => !wanted.has(key));
  const isShown = (key: string): boolean => shown.has(key);
  return ![...wanted].every(isShown) || (removed.length > 0 && removed.every(isShown));
}

type Compared = Pick<PropertySides, "field" | "now" | "desired"> & Partial<Pick<PropertySides, "inState">>;

/** Where the address has a field of its own, the one that asks for it keeps what was asked. */
function hasAddressBeside(field: Field, object: PropertySides["object"]): boolean {
  return addressesIn(field, { ...object, [field.wire]: undefined }).length > 0;
}

/**
 * Whether the service may show the address that the object had before the update in place of the mode that the update has set. A service that
 * does so may show the address twice, and a pinned address looks the same there. If the state has it as pinned, only a new revision without
 * another change proves that it isn't pinned any more.
 */
export function keepsAddress(
  side: PropertySides,
  { fields }: { readonly fields: readonly Field[] },
  { own, before }: { readonly own?: ApiObject | undefined; readonly before?: ApiObject },
): boolean {
  const isChanged = own?.revision !== undefined && fields.length === 1;
  if (before === undefined || !mayShowMode(side) || (isPinned(side) && !isChanged)) return false;
  return sameValue(side.field, side.now, remoteValueOf(side.field, before.fields));
}

/** Whether an address may stand for the mode that is desired. */
export function mayShowMode({ field, now, desired, object }: PropertySides): boolean {
  const isForMode = field.wire === "public_ip" && isAddress(now) && asksForAddress(desired);
  return isForMode && addressesIn(field, object).every((address) => address === now);
}

/** Whether the state's value is an address, and nothing shows that it stands for a mode. */
function isPinned({ inState, applied }: PropertySides): boolean {
  const isOfMode = asksForAddress(applied?.value) && (applied?.word === undefined || isAddress(applied.word));
  return isAddress(inState) && !isOfMode;
}
