/** A text after escapes in it were decoded. */
export interface Decoding {
  readonly text: string;
  /** Converts an index in `text` to an index in the original. `text.length` gives the end of the original. */
  readonly at: (index: number) => number;
}

/** A pattern for an escape, and its meaning. */
type Escape = readonly [pattern: RegExp, meaning: (found: RegExpExecArray) => string];

/** Escapes that are nested more deeply are not decoded. */
const MAX_DECODINGS = 3;

/** Parses a table in which each name is followed by its character. */
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

/** Patterns for the first byte of a UTF-8 sequence of two, three and four bytes, and for its other bytes. */
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

/** Returns the text itself, and the results of decoding one or several kinds of escapes in any order. */
export function decodings(text: string): Decoding[] {
  const all = new Map<string, Decoding>([[text, { text, at: (index) => index }]]);
  let latest = [...all.values()];
  for (let depth = 0; depth < MAX_DECODINGS; depth += 1) {
    const next: Decoding[] = [];
    for (const reading of latest) {
      for (const kind of ESCAPES) {
        const plain = decoded(reading, kind);
        if (plain === undefined || all.has(plain.text)) continue;
        all.set(plain.text, plain);
        next.push(plain);
      }
    }
    latest = next;
  }
  return [...all.values()];
}

/** The span of an escape in the escaped text, and the span of its meaning in the decoded text. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

function decoded({ text, at }: Decoding, [pattern, meaning]: Escape): Decoding | undefined {
  let plain = "";
  let end = 0;
  const changes: Replacement[] = [];
  for (const found of text.matchAll(pattern)) {
    plain += text.slice(end, found.index);
    const from = plain.length;
    plain += meaning(found);
    end = found.index + found[0].length;
    changes.push({ from, to: plain.length, start: found.index, end });
  }
  if (changes.length === 0) return undefined;
  plain += text.slice(end);
  return { text: plain, at: (index) => at(originOf(index)) };

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
