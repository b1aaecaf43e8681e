/**
 * Reads a Retry-After header: seconds, or an HTTP date.
 *
 * @param date the reply's own Date header; a date is measured against it, so that our clock may be wrong
 * @returns milliseconds, or undefined where there is nothing sensible
 */
export function retryAfterMs(header: string | undefined, date: string | undefined): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return finite(Number(text) * 1_000);
  // Date.parse takes "-5" and "12 apples" for dates; an HTTP date begins with the name of a day.
  if (!/^[a-z]{3,9},? /i.test(text)) return undefined;
  const at = Date.parse(text);
  const now = Date.parse(date ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined;
}
