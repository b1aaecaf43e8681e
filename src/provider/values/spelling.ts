import type { PropertySides } from "../updates/conflict";
import { addressesIn, asksForAddress, isAddress } from "./addresses";
import { type Field, sameValue, sshKeysIn } from "./fields";

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
