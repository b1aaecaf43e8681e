import { createHash, randomUUID } from "node:crypto";

/** Generates the key of a new resource (§4.7): a random UUID of version 4. */
export function generateKey(): string {
  return randomUUID();
}

/** Reports whether the service accepts a key. A key in the state may be missing or damaged. */
export function isValidKey(key: string | undefined): key is string {
  return uuid().validate(key);
}

/** Derives the key of the next attempt from the previous key. A different machine with the saved key derives the same keys. */
export function nextKey(key: string): string {
  return uuid().v4({ random: createHash("sha256").update(`cloudinfra key after ${key}`).digest() });
}

/** Loads uuid on demand, because programs only generate keys, and loading the library takes longer than the rest of this package. */
function uuid(): typeof import("uuid") {
  return require("uuid");
}

const MAX_SPENT_KEYS = 16;

/** Returns the next key after a spent key: its successor if it was derived from `first`, or else `first`, which hasn't been sent yet. */
export function keyAfter(spent: string | undefined, first: string): string {
  let key = first;
  for (let tried = 0; tried < MAX_SPENT_KEYS; tried += 1) {
    const next = nextKey(key);
    if (key === spent) return next;
    key = next;
  }
  return first;
}

/** The assumed time for which the service keeps a key, in milliseconds. This is an hour less than §4.7 states, because clocks differ. */
export const KEY_KEPT_MS = 23 * 3_600_000;

/** Reports whether the service still replays its first reply for this key. A time in the future is invalid. */
export function isKeyKept({ at }: { readonly at?: number | undefined }, now = Date.now()): boolean {
  return at !== undefined && Math.abs(now - at) < KEY_KEPT_MS;
}
