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
  const at = httpDate(text);
  const now = httpDate(date?.trim() ?? "");
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined;
}

/** Milliseconds since 1970. The form of asctime (`Sun Nov  6 08:49:37 1994`) means UTC, too, but names no zone. */
function httpDate(text: string): number {
  return Date.parse(/^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i.test(text) ? `${text} GMT` : text);
}
