import type { ApiObject } from "../../api/client";
import { asksForAddress, isAddress, isUnspecifiedMode, publicAddressIn } from "../../model/addresses";
import type { ComparedProperty } from "../../model/property-comparison";
import { type Field, instanceFields } from "../../model/resource-fields";

// A service may return the public address, its mode or neither after an update of the mode.

/** Reports whether the service has assigned an address, although the service doesn't return the new mode. */
export function hasNewAddress(
  { field, now, desired }: ComparedProperty,
  before: ApiObject,
  after: ApiObject,
): boolean {
  if (field.wire !== "public_ip" || now !== null || !asksForAddress(desired)) return false;
  const known = Object.values(before.fields);
  return Object.values(after.fields).some((value) => isAddress(value) && !known.includes(value));
}

/** Reports whether the service doesn't return the new mode, and the mode isn't specified. Only the address may reveal the mode. */
export function isHiddenMode({ field, now, desired }: ComparedProperty): boolean {
  return field.wire === "public_ip" && (now ?? null) === null && isUnspecifiedMode(desired);
}

/** Reports whether the object still has its former public address, although the update has removed the mode or replaced it. */
export function isStillPublic(
  { field, now, desired }: ComparedProperty,
  before: ApiObject,
  after: ApiObject,
): boolean {
  const address = publicAddressIn(field, after.fields);
  const isKept = address !== undefined && address === publicAddressIn(field, before.fields);
  return isKept && (now ?? null) === null && !asksForAddress(desired) && !isAddress(desired);
}

/** Reports whether the service returns an address or null, which may or may not belong to the desired unspecified mode. */
export function mayBeOfMode(compared: ComparedProperty): boolean {
  const { field, now, desired } = compared;
  return (
    isHiddenMode(compared) || (field.wire === "public_ip" && isUnspecifiedMode(desired) && isAddress(now))
  );
}

/** Reports whether the remote value belongs to the unspecified mode that the update has set. The reply would contain a new address. */
export function isOfNewMode(compared: ComparedProperty, own: ApiObject | undefined): boolean {
  return mayBeOfMode(compared) && !(isAddress(compared.now) && isComplete(own));
}

/** Returns the public address after an update, unless another user may have set it since the reply to the update. */
export function ownAddress(
  field: Field,
  { object, own }: { readonly object: ApiObject; readonly own?: ApiObject | undefined },
): string | undefined {
  const isOwn = !isComplete(own) || own.revision === object.revision;
  return publicAddressIn(field, isOwn ? object.fields : own.fields);
}

/** Reports whether the reply to an update contains the object. Such a reply also contains the address, if there is one. */
function isComplete(own: ApiObject | undefined): own is ApiObject {
  const required = instanceFields.filter(({ argument }) => argument === "required");
  return own !== undefined && required.every(({ wire }) => own.fields[wire] !== undefined);
}
