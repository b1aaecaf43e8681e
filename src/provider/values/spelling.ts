import { isIP } from "node:net";
import type { Side } from "../updates/conflict";
import { sameValue } from "./fields";

/**
 * Whether the service's word may be its own spelling of the desired value, rather than what somebody else made of it:
 * it has spelt the value before in its own way, too; or it shows an address for "auto" (§2.2); or only the case differs.
 */
export function mayBeSpelling({ field, inState, known, now, desired, object }: Side): boolean {
  if (desired === undefined) return false;
  if (typeof now === "string" && typeof desired === "string") {
    if (now.trim().toLowerCase() === desired.trim().toLowerCase()) return true;
    if (isIP(desired)) return false;
    if (isIP(now)) return !hasAddressBeside(field.wire, object);
  }
  return inState !== undefined && !sameValue(field, inState, known);
}

/** Where the address has a field of its own, the one that asks for it keeps what was asked. */
function hasAddressBeside(wire: string, object: Side["object"]): boolean {
  return Object.entries(object).some(
    ([name, value]) => name !== wire && typeof value === "string" && isIP(value) > 0,
  );
}
