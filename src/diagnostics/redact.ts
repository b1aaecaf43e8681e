const REPLACEMENT = "[secret]";

/** Stands where a text was shortened. */
const CUT = "…";

/** Anything shorter would black out ordinary words and is no secret worth the name. */
const SHORTEST = 4;

/**
 * Replaces every secret in the text, also where it stands JSON-escaped or percent-encoded, or was cut off by "…".
 * Secrets of fewer than four characters are left alone.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = new Set(secrets.filter((secret) => secret.length >= SHORTEST).flatMap(spellings));
  // The longest first: a secret may contain another one, whose replacement would leave its rest in the clear.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  const clean = sorted.reduce((rest, form) => rest.replaceAll(form, REPLACEMENT), text);
  return clean.includes(CUT) ? withoutBeginnings(clean, sorted) : clean;
}

/** Where a text was shortened, it may have been in the middle of a secret, of which the beginning is left then. */
function withoutBeginnings(text: string, forms: readonly string[]): string {
  const [last = "", ...before] = text.split(CUT).reverse();
  const clean = before.reverse().map((part) => {
    const left = Math.max(0, ...forms.map((form) => beginningAtEnd(part, form)));
    return left === 0 ? part : part.slice(0, -left) + REPLACEMENT;
  });
  return [...clean, last].join(CUT);
}

/** How many characters at the end of a text are the beginning of a secret. */
function beginningAtEnd(text: string, form: string): number {
  for (let length = Math.min(form.length, text.length); length >= SHORTEST; length--) {
    if (text.endsWith(form.slice(0, length))) return length;
  }
  return 0;
}

function spellings(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const lowerCase = encoded.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());
  // Some languages escape the slashes of JSON, too.
  return [
    secret,
    escaped,
    escaped.replaceAll("/", "\\/"),
    secret.replaceAll("~", "~0").replaceAll("/", "~1"), // in a JSON pointer
    encoded,
    lowerCase,
    encoded.replaceAll("%20", "+"),
  ];
}
