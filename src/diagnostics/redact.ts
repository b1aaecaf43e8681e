const REPLACEMENT = "[secret]";

/** Stands where a text was shortened. */
const CUT = /…|\.\.\./g;

/** Anything shorter would black out ordinary words and is no secret worth the name. */
const SHORTEST = 4;

/** A line of a longer secret may be an ordinary word. */
const SHORTEST_LINE = 8;

/** A shorter beginning of a secret, if nothing shows that it was cut, may be an ordinary word. */
const SHORTEST_BEGINNING = 8;

/** Type and key in an SSH public key, between its options and its comment. */
const SSH_KEY = /(?:^|\s)((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)/;

/**
 * Replaces every secret in the text, in upper or lower case, also if it is escaped for JSON, HTML, SQL, Python or a URL, or shortened: to any
 * length before "…" or "...", or to eight or more characters that no letter or digit follows.
 * The same goes for a secret without the white space around it, for its lines, and for an SSH key without its comment.
 * Secrets of fewer than four characters are left alone.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const parts = secrets.flatMap(partsOf).filter((part) => part.length >= SHORTEST);
  const forms = new Set(parts.flatMap(spellings).map(lowerCase));
  // The longest first: a secret may contain another one, whose replacement would leave its rest in the clear.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  const clean = sorted.reduce(without, { text, lower: lowerCase(text) });
  return withoutMarkedBeginnings(sorted.reduce(withoutBeginning, clean), sorted);
}

/** A text, and the same in lower case, which is as long. */
interface Cased {
  readonly text: string;
  readonly lower: string;
}

/** What of a secret must not be shown: all of it, and what a service may repeat of it. */
function partsOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/).map((line) => line.trim());
  const [, type, key] = SSH_KEY.exec(secret) ?? [];
  return [
    ...[secret, secret.trim(), secret.normalize("NFC"), secret.normalize("NFD")],
    ...lines.filter((line) => line.length >= SHORTEST_LINE),
    ...(key === undefined ? [] : [`${type} ${key}`, key]),
  ];
}

/** Replaces a form, given in lower case, wherever it stands. */
function without(cased: Cased, form: string): Cased {
  const spans: Span[] = [];
  for (let start = cased.lower.indexOf(form); start >= 0; ) {
    const end = start + form.length;
    spans.push([start, end]);
    start = cased.lower.indexOf(form, end);
  }
  return withoutSpans(cased, spans);
}

/** Replaces the beginnings of a longer form that are long enough, and end where a word ends. */
function withoutBeginning(cased: Cased, form: string): Cased {
  if (form.length <= SHORTEST_BEGINNING) return cased;
  const { lower } = cased;
  const least = form.slice(0, SHORTEST_BEGINNING);
  const spans: Span[] = [];
  for (let start = lower.indexOf(least); start >= 0; ) {
    let end = start + SHORTEST_BEGINNING;
    while (end < lower.length && lower[end] === form[end - start]) end += 1;
    if (!LETTER_OR_DIGIT.test(lower.slice(end, end + 2))) spans.push([start, end]);
    start = lower.indexOf(least, end);
  }
  return withoutSpans(cased, spans);
}

/** At the start; two code units may be one letter. */
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]/u;

/** Where a part of a text starts and ends. */
type Span = readonly [start: number, end: number];

function withoutSpans(cased: Cased, spans: readonly Span[]): Cased {
  if (spans.length === 0) return cased;
  const kept = (text: string): string =>
    [...spans, [text.length, text.length] as const]
      .map(([start], index) => text.slice(spans[index - 1]?.[1] ?? 0, start))
      .join(REPLACEMENT);
  return { text: kept(cased.text), lower: kept(cased.lower) };
}

/** The text in lower case, as long as before. */
function lowerCase(text: string): string {
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
}

/** Before a sign that a text was shortened, any beginning of a secret is replaced. */
function withoutMarkedBeginnings({ text, lower }: Cased, forms: readonly string[]): string {
  const cuts = [...lower.matchAll(CUT)].map(({ index }) => index);
  const spans = cuts.flatMap((end, index): Span[] => {
    const part = lower.slice(cuts[index - 1] ?? 0, end);
    const length = Math.max(0, ...forms.map((form) => beginningAtEnd(part, form)));
    return length === 0 ? [] : [[end - length, end]];
  });
  return withoutSpans({ text, lower }, spans).text;
}

/** How many characters at the end of a text are the beginning of a secret. */
function beginningAtEnd(text: string, form: string): number {
  const least = form.slice(0, SHORTEST);
  let start = text.indexOf(least, text.length - form.length);
  while (start >= 0 && !form.startsWith(text.slice(start))) start = text.indexOf(least, start + 1);
  return start < 0 ? 0 : text.length - start;
}

function spellings(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const inHtml = ["&quot;", "&#34;"].map((quote) => html.replaceAll('"', quote));
  return [
    secret,
    escaped,
    escaped.replaceAll("/", "\\/"), // some languages escape the slashes of JSON, too
    escaped.replaceAll('\\"', '"').replaceAll("'", "\\'"), // in Python
    secret.replaceAll("'", "''"), // in SQL
    ...[/[^ -~]/g, /[^ -~]|['"&<>+=]/g].map((special) => asCodes(escaped, special)),
    secret.replaceAll("~", "~0").replaceAll("/", "~1"), // in a JSON pointer
    encoded,
    encoded.replaceAll("%20", "+"),
    new URLSearchParams([["", secret.toWellFormed()]]).toString().slice(1),
    ...["'", "&#39;", "&#x27;", "&apos;"].flatMap((apostrophe) =>
      inHtml.map((text) => text.replaceAll("'", apostrophe)),
    ),
    secret.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`),
  ];
}

/** JSON whose special characters are escaped by their codes. */
function asCodes(escaped: string, special: RegExp): string {
  return escaped.replace(special, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
