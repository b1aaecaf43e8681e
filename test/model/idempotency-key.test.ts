import { describe, expect, test } from "vitest";
import { generateKey, isKeyKept, isValidKey, keyAfter, nextKey } from "../../src/model/idempotency-key";

const KEY = "3f2b8c1e-9d4a-4e6f-8a7b-5c0d1e2f3a4b";

describe("an idempotency key", () => {
  test("is a random UUID of version 4", () => {
    const keys = Array.from({ length: 100 }, generateKey);
    expect(new Set(keys).size).toBe(100);
    expect(keys.every(isValidKey)).toBe(true);
  });

  test("is derived for the next attempt in the same way on all machines and in all versions", () => {
    expect(nextKey(KEY)).toBe("a8c402f2-3b59-4d43-a1be-1396248b103b");
  });

  test("that is spent is followed by the next key in the same sequence, or else by the first key", () => {
    const second = nextKey(KEY);
    expect(keyAfter(KEY, KEY)).toBe(second);
    expect(keyAfter(second, KEY)).toBe(nextKey(second));
    expect(keyAfter(generateKey(), KEY)).toBe(KEY);
    expect(keyAfter(undefined, KEY)).toBe(KEY);
  });

  test("is valid only if it is a UUID", () => {
    const damaged = ["", "key", KEY.slice(1), `${KEY}0`, KEY.replaceAll("-", "")];
    expect([KEY, KEY.toUpperCase(), ...damaged].map(isValidKey)).toEqual([
      true,
      true,
      ...damaged.map(() => false),
    ]);
    expect(isValidKey(undefined)).toBe(false);
  });

  test("is kept by the service for 23 hours, and never in the future", () => {
    const now = Date.now();
    const hours = (count: number): boolean => isKeyKept({ at: now + count * 3_600_000 }, now);
    expect([hours(0), hours(-22.9), hours(-23), hours(22), hours(24)]).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(isKeyKept({ at: undefined }, now)).toBe(false);
  });
});
