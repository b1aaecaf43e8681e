import type { Properties } from "../host";

/** What is nested deeper than this is left out: no reply may be able to fail a creation by its form. */
const MAX_DEPTH = 64;

/**
 * Properties as the host can bear them: an `undefined` anywhere in them makes it fail a create that succeeded, or hang,
 * and a date or a class instance becomes something else. The one place where all outputs and inputs pass.
 */
export function toPlainJson(properties: Properties): Properties {
  return toPlainMap(properties, 0);
}

function toPlainMap(map: object, depth: number): Properties {
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      const kept = toPlainValue(value, depth + 1);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}

function toPlainValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => toPlainValue(item, depth + 1) ?? null);
  if (typeof value === "object" && value !== null) return toPlainMap(value, depth);
  return typeof value === "function" || typeof value === "symbol" ? undefined : value;
}
