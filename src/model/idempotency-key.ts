import { hash, randomUUID } from "node:crypto";
import type { Pending } from "./pending";

// Programs also load this file, and loading the package `uuid` would take most of the time for the import of this package.

const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** Generates the key of a new resource (§4.7): a random UUID of version 4. */
export function generateKey(): string {
  return randomUUID();
}

/** Reports whether the service accepts a key. A key in the state may be missing or damaged. */
export function isValidKey(key: string | undefined): key is string {
  return key !== undefined && UUID.test(key);
}

/** Derives the key of the next attempt from the previous key. A different machine with the saved key derives the same keys. */
export function nextKey(key: string): string {
  return derivedUuid(`cloudinfra key after ${key}`);
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

/** Returns a UUID of version 4 that is always the same for equal texts. */
export function derivedUuid(text: string): string {
  const hex = hash("sha256", text);
  const variant = "89ab".charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...groups, hex.slice(20, 32)].join("-");
}

/** The assumed time for which the service keeps a key, in milliseconds. This is an hour less than §4.7 states, because clocks differ. */
export const KEY_KEPT_MS = 23 * 3_600_000;

/** Reports whether the service still replays its first reply for this key. A time in the future is invalid. */
export function isKeyKept({ at }: Pick<Pending, "at">, now = Date.now()): boolean {
  return at !== undefined && Math.abs(now - at) < KEY_KEPT_MS;
}
