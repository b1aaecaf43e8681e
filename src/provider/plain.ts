import type { Properties } from "./host";

/**
 * Properties as the host can bear them: an `undefined` anywhere in them makes it fail a create that succeeded, or hang,
 * and a date or a class instance becomes something else. The one place where all outputs and inputs pass.
 */
export function plain(properties: Properties): Properties {
  const clean = (value: unknown): unknown => {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number" && !Number.isFinite(value)) return undefined;
    if (Array.isArray(value)) return value.map((item) => clean(item) ?? null);
    if (typeof value === "object" && value !== null) return cleanMap(value);
    return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  };
  const cleanMap = (map: object): Properties =>
    Object.fromEntries(
      Object.entries(map).flatMap(([key, value]) => {
        const kept = clean(value);
        return kept === undefined ? [] : [[key, kept]];
      }),
    );
  return cleanMap(properties);
}
