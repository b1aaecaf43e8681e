import { type Decoding, decodings } from "./decodings";
import { CloudInfraError, detailsOf, isCloudInfraError } from "./error";

const REPLACEMENT = "[secret]";

/** Matches where a text was truncated, perhaps in the middle of an escape. */
const CUT = /(?:&#?\w{0,8}|%[\da-f]?|\\[ux]?[\da-f]{0,3})?(?:…|\.\.\.)/g;

/** Shorter secrets are not redacted, because that would also redact ordinary words. */
const MIN_SECRET_LENGTH = 4;

/** Shorter lines of a secret may be ordinary words. */
const MIN_LINE_LENGTH = 8;

/** Shorter beginnings of a secret may be ordinary words, unless an ellipsis shows that the text was truncated. */
const MIN_PREFIX_LENGTH = 8;

/** Matches type and key of an SSH public key, between its options and its comment. Quoted options may contain whitespace and `\"`. */
export const SSH_KEY =
  /^\s*(?:(?:"(?:[^"\\]|\\"|\\(?!"))*"|[^\s"])+\s+)*?((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)(?:\s|$)/;

type Span = readonly [start: number, end: number];

/**
 * Replaces all secrets in a text. It ignores case and recognizes these forms of a secret:
 * - escaped for JSON, HTML, SQL, a URL and others, or for several of them
 * - truncated: a beginning before "…" or "...", an ending after it, or at least eight characters up to the end of a word
 * - without surrounding whitespace or without markup, a single line of it, or an SSH key without its comment
 *
 * Secrets of fewer than four characters are not replaced.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = new Set(
    secrets
      .flatMap(partsOf)
      .filter((part) => part.length >= MIN_SECRET_LENGTH)
      .map(lowerCase),
  );
  if (forms.size === 0) return text;
  return withoutSpans(
    text,
    decodings(text).flatMap((reading) => spansIn(reading, [...forms])),
  );
}

/** Returns a copy of an error and its causes without the secrets in their strings. */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  if (!(error instanceof Error)) return redactStrings(error, secrets);
  const cause = withoutSecrets(error.cause, secrets);
  if (isCloudInfraError(error)) {
    const { cause: _, ...details } = detailsOf(error);
    const clean = Object.entries(details).map(([name, value]) => [name, redactStrings(value, secrets)]);
    return new CloudInfraError(error.code, redact(error.summary, secrets), {
      ...Object.fromEntries(clean),
      cause,
    });
  }
  const copy = new Error(redact(error.message, secrets), cause === undefined ? undefined : { cause });
  return Object.assign(copy, { name: error.name, ...("code" in error && { code: error.code }) });
}

/** Redacts all strings in a JSON value, including keys. */
function redactStrings(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return redact(value, secrets);
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redact(key, secrets), redactStrings(item, secrets)]),
  );
}

/** Returns the forms of a secret that a service may repeat. */
function partsOf(secret: string): string[] {
  const pieces = secret.split(/[\r\n<>]+/).map((piece) => piece.trim());
  const [, type, key] = SSH_KEY.exec(secret) ?? [];
  return [
    ...[secret, secret.trim(), secret.normalize("NFC"), secret.normalize("NFD"), withoutMarkup(secret)],
    ...["/", "//"].map((slash) => secret.replaceAll("\\", slash)), // URLs replace backslashes, also escaped ones
    ...pieces.filter((piece) => piece.length >= MIN_LINE_LENGTH),
    ...(key === undefined ? [] : [`${type} ${key}`, key]),
  ];
}

/** Finds the forms, in lower case, in a decoded text. Returns their spans in the original text. */
function spansIn({ text, at }: Decoding, forms: readonly string[]): Span[] {
  const lower = lowerCase(text);
  const cuts = [...lower.matchAll(CUT)];
  const spans = forms.flatMap((form) => [
    ...occurrences(lower, form),
    ...prefixes(lower, form),
    ...truncatedPrefixes(lower, cuts, form),
    ...truncatedSuffixes(lower, cuts, form),
  ]);
  return spans.map(([start, end]) => [at(start), at(end)]);
}

function* occurrences(lower: string, form: string): Generator<Span> {
  for (let start = lower.indexOf(form); start >= 0; start = lower.indexOf(form, start + 1)) {
    yield [start, start + form.length];
  }
}

/** Finds beginnings of a form that are long enough and end at the end of a word. */
function* prefixes(lower: string, form: string): Generator<Span> {
  if (form.length <= MIN_PREFIX_LENGTH) return;
  for (const [start, least] of occurrences(lower, form.slice(0, MIN_PREFIX_LENGTH))) {
    let end = least;
    while (end < lower.length && lower[end] === form[end - start]) end += 1;
    if (!LETTER_OR_DIGIT.test(lower.slice(end, end + 2))) yield [start, end];
  }
}

/** Finds beginnings of a form before an ellipsis. */
function* truncatedPrefixes(lower: string, cuts: readonly RegExpExecArray[], form: string): Generator<Span> {
  for (const { index, 0: cut } of cuts) {
    const part = lower.slice(Math.max(0, index - form.length), index);
    const length = beginningAtEnd(part, form);
    if (length > 0) yield [index - length, index + cut.replace(/…|\.\.\./, "").length];
  }
}

/** Finds endings of a form after an ellipsis. */
function* truncatedSuffixes(lower: string, cuts: readonly RegExpExecArray[], form: string): Generator<Span> {
  for (const { index, 0: cut } of cuts) {
    const start = index + cut.length;
    const length = endingAtStart(lower.slice(start, start + form.length), form);
    if (length > 0) yield [start, start + length];
  }
}

/** Returns how many characters at the start of a text are the ending of a form. */
function endingAtStart(text: string, form: string): number {
  const least = form.slice(-MIN_SECRET_LENGTH);
  let end = text.lastIndexOf(least);
  while (end >= 0 && !form.endsWith(text.slice(0, end + MIN_SECRET_LENGTH)))
    end = text.lastIndexOf(least, end - 1);
  return end < 0 ? 0 : end + MIN_SECRET_LENGTH;
}

/** Returns how many characters at the end of a text are the beginning of a form. */
function beginningAtEnd(text: string, form: string): number {
  const least = form.slice(0, MIN_SECRET_LENGTH);
  let start = text.indexOf(least);
  while (start >= 0 && !form.startsWith(text.slice(start))) start = text.indexOf(least, start + 1);
  return start < 0 ? 0 : text.length - start;
}

/** Needs up to two code units. */
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]/u;

/** Replaces the spans. Overlapping spans are replaced together. */
function withoutSpans(text: string, spans: readonly Span[]): string {
  let clean = "";
  let shown = 0;
  for (const [start, end] of spans.toSorted(
    ([one, first], [other, second]) => one - other || second - first,
  )) {
    if (start >= shown) clean += text.slice(shown, start) + REPLACEMENT;
    shown = Math.max(shown, end);
  }
  return clean + text.slice(shown);
}

/** Converts a text to lower case without changing its length. */
function lowerCase(text: string): string {
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
}

/** Removes markup and collapses whitespace. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ")
    .replace(/<[^>]*(>|$)/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
