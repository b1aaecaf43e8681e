import type { Labels } from "./fields";

/**
 * The key under which each of the program's labels is shown: the same one or, where that isn't shown, one that differs only in case,
 * because a service may keep keys in small letters.
 */
export function shownKeys(shown: Labels, own: readonly string[]): ReadonlyMap<string, string> {
  const others = Object.keys(shown).filter((key) => !own.includes(key));
  return new Map(
    own.flatMap((key): [string, string][] => {
      if (Object.hasOwn(shown, key)) return [[key, key]];
      const [alike, ...more] = others.filter((other) => other.toLowerCase() === key.toLowerCase());
      return alike === undefined || more.length > 0 ? [] : [[key, alike]];
    }),
  );
}
