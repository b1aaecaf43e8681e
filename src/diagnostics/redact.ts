import { stripVTControlCharacters } from "node:util";
import { CloudInfraError, detailsOf, isCloudInfraError } from "./error";

const REPLACEMENT = "[secret]";

/** Matches the ellipsis of a truncated text, together with an incomplete escape sequence before the ellipsis. */
const CUT = /(?:&#?\w{0,8}|%[\da-f]?|\\[ux]?[\da-f]{0,3})?(?:…|\.\.\.)/g;

/** The minimum length of a secret that is redacted. Shorter secrets could match ordinary words. */
const MIN_SECRET_LENGTH = 4;

/** The minimum length of a single line of a secret. Shorter lines could match ordinary words. */
const MIN_LINE_LENGTH = 8;

/** The minimum length of a truncated secret that has no ellipsis. Shorter prefixes could match ordinary words. */
const MIN_PREFIX_LENGTH = 8;

/** Matches the type and the key of an SSH public key, without options and comment. Quoted options may contain whitespace and `\"`. */
export const SSH_KEY =
  /^\s*(?:(?:"(?:[^"\\]|\\"|\\(?!"))*"|[^\s"])+\s+)*?((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)(?:\s|$)/;

type Span = readonly [start: number, end: number];

/** Secrets in all forms that `redact` replaces. Because of the index, redaction stays fast even if there are thousands of secrets. */
export class SecretForms {
  private readonly secrets = new Set<string>();
  /** The lowercase forms, by their first and by their last characters. A text without these characters can't contain the form. */
  private readonly index = new Map<string, Set<string>>();

  add(secrets: Iterable<string>): this {
    for (const secret of secrets) {
      if (this.secrets.has(secret)) continue;
      this.secrets.add(secret);
      for (const part of partsOf(secret)) if (part.length >= MIN_SECRET_LENGTH) this.addForm(lowerCase(part));
    }
    return this;
  }

  get isEmpty(): boolean {
    return this.index.size === 0;
  }

  /** Returns the forms that a lowercase text may contain. */
  candidatesIn(lower: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (let at = 0; at + MIN_SECRET_LENGTH <= lower.length; at += 1) {
      for (const form of this.index.get(lower.slice(at, at + MIN_SECRET_LENGTH)) ?? []) found.add(form);
    }
    return found;
  }

  private addForm(form: string): void {
    for (const end of [form.slice(0, MIN_SECRET_LENGTH), form.slice(-MIN_SECRET_LENGTH)]) {
      const forms = this.index.get(end) ?? new Set();
      this.index.set(end, forms.add(form));
    }
  }
}

/**
 * Replaces all secrets in a text, regardless of case. The following forms of a secret are recognized:
 * - escaped for JSON, HTML, SQL or a URL, even several times
 * - truncated: a prefix before "…" or "...", a suffix after an ellipsis, or at least eight characters up to the end of a word
 * - without surrounding whitespace or markup, as a single line, or as an SSH key without its comment
 * - as a slug, because services may derive an id from a name
 *
 * Secrets of fewer than four characters are not replaced.
 */
export function redact(text: string, secrets: readonly string[] | SecretForms): string {
  const forms = secrets instanceof SecretForms ? secrets : new SecretForms().add(secrets);
  if (forms.isEmpty) return text;
  return withoutSpans(
    text,
    decodings(text).flatMap((reading) => spansIn(reading, forms)),
  );
}

/**
 * Removes secrets and control characters from a line of a message. Secrets are redacted before and after control characters are removed,
 * because both secrets and replies may contain such characters.
 */
export function cleanLine(text: string, secrets: readonly string[] | SecretForms): string {
  return redact(oneLine(redact(text, secrets)), secrets);
}

/** Replaces line breaks and control characters, so that text from the service can't change the layout or control the terminal. */
export function oneLine(text: string): string {
  // A single character class takes linear time. Separate classes for the surrounding whitespace would take quadratic time.
  return stripVTControlCharacters(text).replace(/[\s\p{Cc}\p{Bidi_C}]+/gu, (run) =>
    /[\p{Cc}\p{Bidi_C}\p{Zl}\p{Zp}]/u.test(run) ? " " : run,
  );
}

/** Returns a copy of an error and its causes in which all secrets are redacted. */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  const clean = (value: unknown): unknown => mapStrings(value, (text) => redact(text, secrets));
  if (!(error instanceof Error)) return clean(error);
  const cause = withoutSecrets(error.cause, secrets);
  if (isCloudInfraError(error)) {
    const { cause: _, ...details } = detailsOf(error);
    const cleaned = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, clean(value)]));
    return new CloudInfraError(error.code, redact(error.summary, secrets), { ...cleaned, cause });
  }
  const copy = new Error(redact(error.message, secrets), cause === undefined ? undefined : { cause });
  return Object.assign(copy, { name: error.name, ...("code" in error && { code: error.code }) });
}

/** Applies a function to all strings in a JSON value, including object keys. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), mapStrings(item, change)]),
  );
}

/** Returns a secret in all variants that are redacted, such as its single lines or a key without its comment. */
function partsOf(secret: string): string[] {
  const pieces = secret.split(/[\r\n<>]+/).map((piece) => piece.trim());
  const [, type, key] = SSH_KEY.exec(secret) ?? [];
  return [
    ...[secret, secret.trim(), secret.normalize("NFC"), secret.normalize("NFD"), withoutMarkup(secret)],
    ...["/", "//"].map((slash) => secret.replaceAll("\\", slash)), // URLs replace backslashes, also escaped ones
    ...pieces.filter((piece) => piece.length >= MIN_LINE_LENGTH),
    ...slugsOf(secret),
    ...(key === undefined ? [] : [`${type} ${key}`, key]),
  ];
}

/** Returns the slugs of a secret that consists of several words. The slug of a single word may be an ordinary word. */
function slugsOf(secret: string): string[] {
  const withoutAccents = secret.normalize("NFD").replace(/\p{M}/gu, "");
  const words = withoutAccents.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length < 2 ? [] : [words.join("-"), words.join("_")];
}

/** Finds lowercase secrets in a decoded text, and returns their spans in the original text. */
function spansIn({ text, at }: Decoding, forms: SecretForms): Span[] {
  const lower = lowerCase(text);
  const cuts = [...lower.matchAll(CUT)];
  const spans = [...forms.candidatesIn(lower)].flatMap((form) => [
    ...occurrences(lower, form),
    ...prefixes(lower, form),
    ...truncations(lower, cuts, form),
  ]);
  return spans.map(([start, end]) => [at(start), at(end)]);
}

function* occurrences(lower: string, form: string): Generator<Span> {
  for (let start = lower.indexOf(form); start >= 0; start = lower.indexOf(form, start + 1)) {
    yield [start, start + form.length];
  }
}

/** Finds prefixes of a secret that are long enough and end at the end of a word. */
function* prefixes(lower: string, form: string): Generator<Span> {
  if (form.length <= MIN_PREFIX_LENGTH) return;
  for (const [start, least] of occurrences(lower, form.slice(0, MIN_PREFIX_LENGTH))) {
    let end = least;
    while (end < lower.length && lower[end] === form[end - start]) end += 1;
    while (end >= least && LETTER_OR_DIGIT.test(lower.slice(end, end + 2))) end -= 1;
    if (end >= least) yield [start, end];
  }
}

/** Finds prefixes of a secret before an ellipsis, and suffixes after an ellipsis. */
function* truncations(lower: string, cuts: readonly RegExpExecArray[], form: string): Generator<Span> {
  for (const { index, 0: cut } of cuts) {
    const prefix = beginningAtEnd(lower.slice(Math.max(0, index - form.length), index), form);
    if (prefix > 0) yield [index - prefix, index + cut.replace(/…|\.\.\./, "").length];
    const start = index + cut.length;
    const suffix = endingAtStart(lower.slice(start, start + form.length), form);
    if (suffix > 0) yield [start, start + suffix];
  }
}

/** Returns the length of the longest suffix of a secret at the start of a text. */
function endingAtStart(text: string, form: string): number {
  const ends = [...occurrences(text, form.slice(-MIN_SECRET_LENGTH))].map(([, end]) => end);
  return ends.findLast((end) => form.endsWith(text.slice(0, end))) ?? 0;
}

/** Returns the length of the longest prefix of a secret at the end of a text. */
function beginningAtEnd(text: string, form: string): number {
  const starts = [...occurrences(text, form.slice(0, MIN_SECRET_LENGTH))].map(([start]) => start);
  const first = starts.find((start) => form.startsWith(text.slice(start)));
  return first === undefined ? 0 : text.length - first;
}

/** Matches a letter or a digit, which may consist of two UTF-16 code units, or the second unit of any character. */
const LETTER_OR_DIGIT = /^[\p{L}\p{N}\p{Cs}]/u;

/** Replaces the given spans of a text. Overlapping spans are replaced together. */
function withoutSpans(text: string, spans: readonly Span[]): string {
  let clean = "";
  let shown = 0;
  for (const [start, end] of spans.toSorted(([one], [other]) => one - other)) {
    if (start >= shown) clean += text.slice(shown, start) + REPLACEMENT;
    shown = Math.max(shown, end);
  }
  return clean + text.slice(shown);
}

/** Converts a text to lower case, except for letters whose lowercase form has a different length. */
function lowerCase(text: string): string {
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower.length === letter.length ? lower : letter;
  });
}

/** Truncates a long text and adds an ellipsis. */
export function truncated(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** Removes markup from a text, and collapses whitespace. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ")
    .replace(/<[^>]*(>|$)/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** A text whose escape sequences were decoded. */
interface Decoding {
  readonly text: string;
  /** Converts an index in the decoded text to an index in the original text, up to the end of both. */
  readonly at: (index: number) => number;
  /** The number of nested escape sequences that were decoded. */
  readonly depth: number;
}

/** The pattern of an escape sequence, and the text that the sequence represents. */
type Escape = readonly [pattern: RegExp, meaning: (found: RegExpExecArray) => string];

/** The maximum number of nested escape sequences that are decoded. */
const MAX_DECODINGS = 3;

/** Parses a space-separated table in which each name is followed by its character. */
function tableOf(entries: string): ReadonlyMap<string, string> {
  return new Map(entries.split(" ").map((entry) => [entry.slice(0, -1), entry.slice(-1)]));
}

const CONTROLS = tableOf("n\n r\r t\t b\b f\f");
const ENTITIES = tableOf(
  "amp& lt< gt> quot\" apos' sol/ bsol\\ grave` equals= plus+ colon: semi; comma, period. num# percnt% excl! dollar$ ast* quest? commat@ " +
    "lowbar_ lpar( rpar) hyphen- szligß nbsp\u00a0",
);
/** Entities that begin with a letter, such as `&auml;`. */
const ACCENTS = tableOf(
  "uml\u0308 acute\u0301 grave\u0300 circ\u0302 tilde\u0303 ring\u030a cedil\u0327 caron\u030c",
);

/** The patterns for the bytes of a UTF-8 sequence: the first of two, three or four bytes, and a continuation byte. */
const HEX = ["[cd][\\da-f]", "e[\\da-f]", "f[0-7]", "[89ab][\\da-f]"] as const;
const OCTAL = ["3[0-3][0-7]", "3[45][0-7]", "36[0-7]", "2[0-7][0-7]"] as const;

/** Creates a pattern for a non-ASCII character whose UTF-8 bytes are escaped one by one. */
function inUtf8(prefix: string, [two, three, four, next]: typeof HEX | typeof OCTAL): RegExp {
  const after = (count: number): string => `(?:${prefix}${next}){${count}}`;
  return new RegExp(`${prefix}(?:${two}${after(1)}|${three}${after(2)}|${four}${after(3)})`, "gi");
}

const ESCAPES: readonly Escape[] = [
  [/&#(\d{1,7});?/g, ([, code]) => character(Number(code))],
  [/&#x([\da-f]{1,6});?/gi, ([, code]) => character(Number(`0x${code}`))],
  [/&([a-z]+);/gi, ([entity, name = ""]) => ENTITIES.get(name.toLowerCase()) ?? accented(name) ?? entity],
  [/\\(?:[ux]\{([\dA-Fa-f]{1,6})\}|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|x([\dA-Fa-f]{2})|(.))/gs, backslash],
  [inUtf8("\\\\x", HEX), ([bytes]) => utf8(bytes.slice(2).split("\\x"), 16)],
  [inUtf8("\\\\", OCTAL), ([bytes]) => utf8(bytes.slice(1).split("\\"), 8)],
  [inUtf8("%", HEX), ([bytes]) => utf8(bytes.slice(1).split("%"), 16)],
  [/%(?:u([\da-f]{4})|([\da-f]{2}))/gi, ([, unit, byte]) => character(Number(`0x${unit ?? byte}`))],
  [/\+/g, () => " "], // in a form
  [/''|""/g, ([quotes]) => quotes.slice(1)], // in SQL and CSV
  [/~[01]/g, ([pointer]) => (pointer === "~0" ? "~" : "/")], // in a JSON pointer
];

/** Returns the text itself, and the results of decoding its escape sequences in any order. */
function decodings(text: string): Decoding[] {
  const all = new Map<string, Decoding>([[text, { text, at: (index) => index, depth: 0 }]]);
  // The loop also visits the decodings that it adds.
  for (const reading of all.values()) {
    if (reading.depth === MAX_DECODINGS) break;
    for (const kind of ESCAPES) {
      const plain = decoded(reading, kind);
      if (plain !== undefined && !all.has(plain.text)) all.set(plain.text, plain);
    }
  }
  return [...all.values()];
}

function decoded({ text, at, depth }: Decoding, [pattern, meaning]: Escape): Decoding | undefined {
  let plain = "";
  let end = 0;
  /** The spans of the escape sequences from `start` to `end`, and of their meanings from `from` to `to`. */
  const changes: Record<"start" | "end" | "from" | "to", number>[] = [];
  for (const found of text.matchAll(pattern)) {
    plain += text.slice(end, found.index);
    const from = plain.length;
    plain += meaning(found);
    end = found.index + found[0].length;
    changes.push({ from, to: plain.length, start: found.index, end });
  }
  if (changes.length === 0) return undefined;
  plain += text.slice(end);
  return { text: plain, at: (index) => at(originOf(index)), depth: depth + 1 };

  function originOf(index: number): number {
    const last = changes.findLast(({ from }) => from <= index);
    if (last === undefined) return index;
    return index < last.to ? last.start : last.end + index - last.to;
  }
}

function backslash([, braced, unit, long, byte, sign = ""]: RegExpExecArray): string {
  const code = braced ?? unit ?? long ?? byte;
  return code === undefined ? (CONTROLS.get(sign) ?? sign) : character(Number(`0x${code}`));
}

function accented(name: string): string | undefined {
  const accent = ACCENTS.get(name.slice(1));
  return accent && `${name.charAt(0)}${accent}`.normalize("NFC");
}

function utf8(bytes: readonly string[], base: number): string {
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, base))).toString();
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}
