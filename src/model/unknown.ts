import type { Arguments, Field } from "./fields";

/** The engine's words for "not known yet", one for each kind of value. They come at the exact leaf. */
const sentinels = new Set([
  "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

/** What check answers for a property that only `up` will know. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

export function isUnknown(value: unknown): boolean {
  return typeof value === "string" && sentinels.has(value);
}

/** Returns the arguments that are unknown, in whole or in part. */
export function unknownArguments(fields: readonly Field[], args: Arguments): Arguments {
  const names = fields.map(({ name }) => name).filter((name) => hasUnknown(args[name]));
  return Object.fromEntries(names.map((name) => [name, args[name]]));
}

function hasUnknown(value: unknown): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some(hasUnknown)
    : isUnknown(value);
}
