/** A text as it reads once escapes in it are decoded. */
export interface Decoding {
  readonly text: string;
  /** Returns where in the original a character starts, given its index. The index after the last one gives the end. */
  readonly at: (index: number) => number;
}

/** What a pattern finds stands for another character. */
type Escape = readonly [pattern: RegExp, meaning: (found: RegExpExecArray) => string];

/** Anything that was escaped more often is taken as it stands. */
const MAX_DECODINGS = 3;

/** Each by its name, which is followed by what it stands for. */
function tableOf(entries: string): ReadonlyMap<string, string> {
  return new Map(entries.split(" ").map((entry) => [entry.slice(0, -1), entry.slice(-1)]));
}

const CONTROLS = tableOf("n\n r\r t\t b\b f\f");
const ENTITIES = tableOf(
  "amp& lt< gt> quot\" apos' sol/ bsol\\ grave` equals= plus+ colon: semi; comma, period. num# percnt% excl! dollar$ ast* quest? commat@ " +
    "lowbar_ lpar( rpar) hyphen- szligß nbsp\u00a0",
);
/** Stand after their letter: `&auml;`. */
const ACCENTS = tableOf(
  "uml\u0308 acute\u0301 grave\u0300 circ\u0302 tilde\u0303 ring\u030a cedil\u0327 caron\u030c",
);

/** The first byte of a character of two, three or four bytes in UTF-8, and each byte after it. */
const HEX = ["[cd][\\da-f]", "e[\\da-f]", "f[0-7]", "[89ab][\\da-f]"] as const;
const OCTAL = ["3[0-3][0-7]", "3[45][0-7]", "36[0-7]", "2[0-7][0-7]"] as const;

/** A pattern for one character beyond ASCII in UTF-8, of which each byte is escaped. */
function inUtf8(sign: string, [two, three, four, next]: typeof HEX | typeof OCTAL): RegExp {
  const after = (count: number): string => `(?:${sign}${next}){${count}}`;
  return new RegExp(`${sign}(?:${two}${after(1)}|${three}${after(2)}|${four}${after(3)})`, "gi");
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

/** All ways to read a text: as it stands, and with one or several kinds of escapes decoded, in any order. */
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

/** Where an escape stands in a text, and where what it means stands in the decoded one. */
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
