import { BlockList, isIP } from "node:net";
import { referencedValue } from "./changes";
import type { Field, WireFields } from "./resource-fields";

interface RecordedAddress {
  /** The address after the last create, update or refresh. */
  readonly ipAddress?: unknown;
  /** The mode, if another user has replaced it. `ipAddress` may then be the address that this user has set. */
  readonly applied?: { readonly value: unknown } | undefined;
}

const NO_ADDRESS = /^(no|none|never|off|false|disabled?|null|nil|without|0|-|)$/i;

/** Reports whether a `publicIp` value lets the service choose an address. "auto" is the only such mode in the specification (§2.2). */
export function asksForAddress(value: unknown): value is string {
  return typeof value === "string" && value.trim().toLowerCase() === "auto";
}

/** Reports whether a `publicIp` value is a mode that the specification doesn't contain. The service may or may not assign an address. */
export function isUnspecifiedMode(value: unknown): value is string {
  return typeof value === "string" && !isAddress(value) && !asksForAddress(value) && !meansNoAddress(value);
}

/** Reports whether a `publicIp` value is a common word for "no address". */
export function meansNoAddress(value: unknown): boolean {
  if (value === null || typeof value === "object") return value === null;
  const word = String(value).trim();
  return NO_ADDRESS.test(word) || isUnassigned(word);
}

/** Returns the addresses in the fields for the public address. Other fields are ignored, because they may contain private addresses. */
export function addressesIn(field: Field, object: WireFields): string[] {
  const { addressFields = [] } = field;
  return addressFields.map((name) => referencedValue(field, object[name])).filter(isAddress);
}

/** Returns the address that is reachable from the internet. */
export function publicAddressIn(field: Field, object: WireFields): string | undefined {
  return addressesIn(field, object).find((one) => !isPrivate(one));
}

/** Returns the fields that contain the public address, without the field for the mode. */
export function addressFieldsBeside({ wire, addressFields = [] }: Field): string[] {
  return addressFields.filter((name) => name !== wire);
}

/** Reports whether the object no longer has its address. Returns `undefined` if the reply omits the address fields. */
export function hasLostAddress(field: Field, known: unknown, object: WireFields): boolean | undefined {
  if (!isAddress(known) || field.addressFields === undefined || addressesIn(field, object).length > 0)
    return false;
  return addressFieldsBeside(field).some((name) => object[name] !== undefined) || undefined;
}

/** Reports whether the object contains an address, a reference to an address or `true` instead of the mode. */
export function isShownByAddress(field: Field, value: unknown, object: WireFields): boolean {
  const shown = object.public_ip ?? "";
  const isOmitted =
    field.wire === "public_ip" && (shown === "" || shown === true || typeof shown === "object");
  return isOmitted && asksForAddress(value) && addressesIn(field, object).length > 0;
}

/** Reports whether the object has a public address in any field. */
export function hasPublicAddress(field: Field, object: WireFields): boolean {
  const isPublic = (value: unknown): boolean => isAddress(value) && !isPrivate(value);
  return addressesIn(field, object).length > 0 || Object.values(object).some(isPublic);
}

/** Reports whether an address is reachable only from a private network. */
export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** The private networks (RFC 1918, 6598, 3927 and 4193). */
const PRIVATE = new BlockList();
PRIVATE.addSubnet("10.0.0.0", 8);
PRIVATE.addSubnet("172.16.0.0", 12);
PRIVATE.addSubnet("192.168.0.0", 16);
PRIVATE.addSubnet("100.64.0.0", 10);
PRIVATE.addSubnet("169.254.0.0", 16);
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");

/**
 * Returns the current address of the object if it differs from the address in `value`, and the field for the mode contains no address. A
 * private address never replaces a public address. If `value` means "no address", returns the public address of the object. If `value` is
 * an unspecified mode, returns the public address unless the state contains it.
 */
export function addressBeside(
  field: Field,
  value: unknown,
  object: WireFields,
  { ipAddress, applied }: RecordedAddress = {},
): string | undefined {
  const shown = referencedValue(field, object[field.wire], value);
  if (typeof value === "string" && !isAddress(value) && !asksForAddress(value) && (shown ?? "") === "") {
    const address = publicAddressIn(field, object);
    const isOfMode = isUnspecifiedMode(value) && address === ipAddress && applied?.value !== value;
    return isOfMode ? undefined : address;
  }
  if (!isAddress(value) || isAddress(shown)) return undefined;
  if (Object.values(object).includes(value)) return value;
  return addressesIn(field, object).find((one) => isPrivate(one) === isPrivate(value));
}

export function isAddress(value: unknown): value is string {
  return typeof value === "string" && isIP(value) > 0 && !isUnassigned(value);
}

/** Reports whether a value is an address that some services return instead of no address. */
export function isUnassigned(value: unknown): boolean {
  return value === "0.0.0.0" || value === "::";
}
