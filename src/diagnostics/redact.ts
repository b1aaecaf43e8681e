const REPLACEMENT = "[secret]";

/** Stands where a text was shortened. */
const CUT = "…";

/** Anything shorter would black out ordinary words and is no secret worth the name. */
const SHORTEST = 4;

/** A line of a longer secret may be an ordinary word. */
const SHORTEST_LINE = 8;

/** Type and key in an SSH public key, between its options and its comment. */
const SSH_KEY = /(?:^|\s)((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)/;

/**
 * Replaces every secret in the text, in upper or lower case, also if it is escaped for JSON, HTML or a URL, or cut off by "…".
 * The same goes for a secret without the white space around it, for its lines, and for an SSH key without its comment.
 * Secrets of fewer than four characters are left alone.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const parts = secrets.flatMap(partsOf).filter((part) => part.length >= SHORTEST);
  const forms = new Set(parts.flatMap(spellings).map(lowerCase));
  // The longest first: a secret may contain another one, whose replacement would leave its rest in the clear.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  const clean = sorted.reduce(without, text);
  return clean.includes(CUT) ? withoutBeginnings(clean, sorted) : clean;
}

/** What of a secret must not be shown: all of it, and what a service may repeat of it. */
function partsOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/).map((line) => line.trim());
  const [, type, key] = SSH_KEY.exec(secret) ?? [];
  return [
    ...[secret, secret.trim()],
    ...lines.filter((line) => line.length >= SHORTEST_LINE),
    ...(key === undefined ? [] : [`${type} ${key}`, key]),
  ];
}

/** Replaces a form, given in lower case, wherever it stands. */
function without(text: string, form: string): string {
  let end = 0;
  const kept = lowerCase(text)
    .split(form)
    .map(({ length }) => {
      const start = end;
      end += length + form.length;
      return text.slice(start, start + length);
    });
  return kept.join(REPLACEMENT);
}

/** The text in lower case, as long as before. */
function lowerCase(text: string): string {
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
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
    if (lowerCase(text.slice(-length)) === form.slice(0, length)) return length;
  }
  return 0;
}

function spellings(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const html = secret
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
  return [
    secret,
    escaped,
    escaped.replaceAll("/", "\\/"), // some languages escape the slashes of JSON, too
    ...[/[^ -~]/g, /[^ -~]|['"&<>+=]/g].map((special) => asCodes(escaped, special)),
    secret.replaceAll("~", "~0").replaceAll("/", "~1"), // in a JSON pointer
    encoded,
    encoded.replaceAll("%20", "+"),
    new URLSearchParams([["", secret.toWellFormed()]]).toString().slice(1),
    ...["'", "&#39;", "&#x27;", "&apos;"].map((apostrophe) => html.replaceAll("'", apostrophe)),
    secret.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`),
  ];
}

/** JSON whose special characters are escaped by their codes. */
function asCodes(escaped: string, special: RegExp): string {
  return escaped.replace(special, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
