import { type Decoding, decodings } from "./decodings";
import { CloudInfraError, detailsOf, isCloudInfraError } from "./error";

const REPLACEMENT = "[secret]";

/** Stands where a text was shortened, perhaps in the middle of an escape. */
const CUT = /(?:&#?\w{0,8}|%[\da-f]?|\\[ux]?[\da-f]{0,3})?(?:…|\.\.\.)/g;

/** Anything shorter would black out ordinary words and is no secret worth the name. */
const MIN_SECRET_LENGTH = 4;

/** A line of a longer secret may be an ordinary word. */
const MIN_LINE_LENGTH = 8;

/** A shorter beginning of a secret, if nothing shows that it was cut, may be an ordinary word. */
const MIN_PREFIX_LENGTH = 8;

/** Type and key in an SSH public key, between its options and its comment. Options may have white space and `\"` between quotes. */
export const SSH_KEY =
  /^\s*(?:(?:"(?:[^"\\]|\\"|\\(?!"))*"|[^\s"])+\s+)*?((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)(?:\s|$)/;

/** Where a part of a text starts and ends. */
type Span = readonly [start: number, end: number];

/**
 * Replaces every secret in the text, in upper or lower case, also if it is escaped (for JSON, HTML, SQL, a URL and others, or for several of
 * them), or shortened: to any beginning before "…" or "...", to any ending after it, or to eight or more characters that no letter or digit follows.
 * The same goes for a secret without the white space around it or the markup in it, for its lines, and for an SSH key without its comment.
 * Secrets of fewer than four characters are left alone.
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

/** Returns a copy of an error, and of its causes, without the secrets in any of their texts. */
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

/** Redacts all texts in a value that JSON can hold. */
function redactStrings(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return redact(value, secrets);
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redact(key, secrets), redactStrings(item, secrets)]),
  );
}

/** What of a secret must not be shown: all of it, and what a service may repeat of it. */
function partsOf(secret: string): string[] {
  const pieces = secret.split(/[\r\n<>]+/).map((piece) => piece.trim());
  const [, type, key] = SSH_KEY.exec(secret) ?? [];
  return [
    ...[secret, secret.trim(), secret.normalize("NFC"), secret.normalize("NFD"), withoutMarkup(secret)],
    ...["/", "//"].map((slash) => secret.replaceAll("\\", slash)), // in a URL, perhaps escaped before that
    ...pieces.filter((piece) => piece.length >= MIN_LINE_LENGTH),
    ...(key === undefined ? [] : [`${type} ${key}`, key]),
  ];
}

/** Where forms, given in lower case, and their beginnings stand in the original of a reading. */
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

/** The beginnings of a longer form that are long enough, and end where a word ends. */
function* prefixes(lower: string, form: string): Generator<Span> {
  if (form.length <= MIN_PREFIX_LENGTH) return;
  for (const [start, least] of occurrences(lower, form.slice(0, MIN_PREFIX_LENGTH))) {
    let end = least;
    while (end < lower.length && lower[end] === form[end - start]) end += 1;
    if (!LETTER_OR_DIGIT.test(lower.slice(end, end + 2))) yield [start, end];
  }
}

/** Before a sign that a text was shortened, any beginning of a form. */
function* truncatedPrefixes(lower: string, cuts: readonly RegExpExecArray[], form: string): Generator<Span> {
  for (const { index, 0: sign } of cuts) {
    const part = lower.slice(Math.max(0, index - form.length), index);
    const length = beginningAtEnd(part, form);
    if (length > 0) yield [index - length, index + sign.replace(/…|\.\.\./, "").length];
  }
}

/** After a sign that a text was shortened, any ending of a form. */
function* truncatedSuffixes(lower: string, cuts: readonly RegExpExecArray[], form: string): Generator<Span> {
  for (const { index, 0: sign } of cuts) {
    const start = index + sign.length;
    const length = endingAtStart(lower.slice(start, start + form.length), form);
    if (length > 0) yield [start, start + length];
  }
}

/** How many characters at the start of a text are the ending of a secret. */
function endingAtStart(text: string, form: string): number {
  const least = form.slice(-MIN_SECRET_LENGTH);
  let end = text.lastIndexOf(least);
  while (end >= 0 && !form.endsWith(text.slice(0, end + MIN_SECRET_LENGTH)))
    end = text.lastIndexOf(least, end - 1);
  return end < 0 ? 0 : end + MIN_SECRET_LENGTH;
}

/** How many characters at the end of a text are the beginning of a secret. */
function beginningAtEnd(text: string, form: string): number {
  const least = form.slice(0, MIN_SECRET_LENGTH);
  let start = text.indexOf(least);
  while (start >= 0 && !form.startsWith(text.slice(start))) start = text.indexOf(least, start + 1);
  return start < 0 ? 0 : text.length - start;
}

/** At the start; two code units may be one letter. */
const LETTER_OR_DIGIT = /^[\p{L}\p{N}]/u;

/** Replaces each span, and those that overlap as one. */
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

/** The text in lower case, as long as before. */
function lowerCase(text: string): string {
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
}

/** A text without its markup, and each white space as one blank. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ")
    .replace(/<[^>]*(>|$)/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
