import type { Behaviour } from "./behaviour";

/** The object that a request changes. */
export interface Subject {
  /** Kind of object. */
  readonly kind: "project" | "instance";
  /** Id of the object. */
  readonly id: string;
  /** Id of the operation that the request started. @default none */
  readonly operation?: string;
}

/** A complete reply as text, which can be stored, replayed or damaged. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The object that the request created or started to change. The log contains the object, but the reply doesn't. */
  readonly subject?: Subject;
}

export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

export function bodyless(status: number, headers: Record<string, string> = {}): Reply {
  return { status, headers, body: "" };
}

/** Replaces missing and empty values of an object with null, depending on the switch `absentValues`. */
export function present({ absentValues }: Behaviour, object: Readonly<Record<string, unknown>>): object {
  if (absentValues === "omitted") return object;
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, isEmpty(value) ? null : value]),
  );
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === undefined;
  return Object.keys(value).length === 0;
}

/** Returns a copy of the object without the given fields. */
export function without(fields: readonly string[], object: object): object {
  if (fields.length === 0) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)));
}

/** Converts an id to JSON. The result is a number if `ids` is `number`. */
export function idOnWire({ ids }: Behaviour, id: unknown): unknown {
  return ids === "number" && typeof id === "string" && /^\d+$/.test(id) ? Number(id) : id;
}

/** Formats a date as ISO 8601 in UTC, to the second. */
export function plainDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Formats a date in a list item, which may have fractional seconds (§2.1). */
export function dateInList({ fractionalDates }: Behaviour, at: number): string {
  return fractionalDates ? new Date(at).toISOString() : plainDate(at);
}

/** Formats a date for a header, such as `Sun, 06 Nov 1994 08:49:37 GMT` or `Sun Nov 6 08:49:37 1994`. */
export function httpDate(at: number, form: "http-date" | "asctime"): string {
  const text = new Date(at).toUTCString();
  if (form === "http-date") return text;
  return text.replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, (_, weekday, day, month, year, time) =>
    [weekday, month, day.replace(/^0/, " "), time, year].join(" "),
  );
}
