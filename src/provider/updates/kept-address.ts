import type { ApiObject } from "../../api/client";
import { addressesIn, asksForAddress, isAddress } from "../values/addresses";
import { sameValue } from "../values/fields";
import { remoteValueOf } from "../values/words";
import type { PropertySides } from "./conflict";
import type { Change } from "./update-write";

/**
 * Whether the service may show the address that the object had before the update in place of the mode that the update has set. A service that
 * does so may show the address twice, and a pinned address looks the same there. If the state has it as pinned, only a new revision without
 * another change proves that it isn't pinned any more.
 */
export function keepsAddress(
  side: PropertySides,
  { fields }: Change,
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
