import type { Behaviour } from "./behaviour";

/** ISO 8601 in UTC, to the second. */
export function plainDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** A date in a list item, which may have fractional seconds (§2.1). */
export function dateInList({ fractionalDates }: Behaviour, at: number): string {
  return fractionalDates ? new Date(at).toISOString() : plainDate(at);
}

/** A date in a header: `Sun, 06 Nov 1994 08:49:37 GMT`, or `Sun Nov  6 08:49:37 1994`. */
export function httpDate(at: number, form: "http-date" | "asctime"): string {
  const text = new Date(at).toUTCString();
  if (form === "http-date") return text;
  return text.replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, (_, weekday, day, month, year, time) =>
    [weekday, month, day.replace(/^0/, " "), time, year].join(" "),
  );
}
