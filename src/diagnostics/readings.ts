/** A text as it reads once escapes in it are decoded. */
export interface Reading {
  readonly text: string;
  /** Returns where in the original a character starts, given its index. The index after the last one gives the end. */
  readonly at: (index: number) => number;
}

/** What a pattern finds stands for another character. */
type Escape = readonly [pattern: RegExp, meaning: (found: RegExpExecArray) => string];

/** Anything that was escaped more often is taken as it stands. */
const DEEPEST = 3;

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" },
  ...{ sol: "/", bsol: "\\", grave: "`", equals: "=", plus: "+" },
};

/** One character in UTF-8, each byte escaped. */
const PERCENT =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[\da-f](?:%[89ab][\da-f]){3}/gi;

const ESCAPES: readonly Escape[] = [
  [/&#(\d{1,7});?/g, ([, code]) => character(Number(code))],
  [/&#x([\da-f]{1,6});?/gi, ([, code]) => character(Number(`0x${code}`))],
  [/&([a-z]+);/g, ([entity, name = ""]) => ENTITIES[name] ?? entity],
  [/\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gis, backslash], // in JSON, JavaScript, Python
  [PERCENT, ([bytes]) => percent(bytes)],
  [/\+/g, () => " "], // in a form
  [/''|""/g, ([quotes]) => quotes.slice(1)], // in SQL and CSV
  [/~[01]/g, ([pointer]) => (pointer === "~0" ? "~" : "/")], // in a JSON pointer
];

/** All ways to read a text: as it stands, and with one or several kinds of escapes decoded, in any order. */
export function readings(text: string): Reading[] {
  const all = new Map<string, Reading>([[text, { text, at: (index) => index }]]);
  let latest = [...all.values()];
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const next = latest.flatMap((reading) => ESCAPES.map((escape) => decoded(reading, escape)));
    latest = next.filter((reading) => !all.has(reading.text));
    for (const reading of latest) all.set(reading.text, reading);
  }
  return [...all.values()];
}

function decoded(reading: Reading, [pattern, meaning]: Escape): Reading {
  const { text, at } = reading;
  if (text.search(pattern) < 0) return reading;
  let plain = "";
  let end = 0;
  const starts: number[] = [];
  const add = (part: string, startOf: (offset: number) => number): void => {
    for (let offset = 0; offset < part.length; offset += 1) starts.push(startOf(offset));
    plain += part;
  };
  for (const found of text.matchAll(pattern)) {
    const from = end;
    add(text.slice(from, found.index), (offset) => from + offset);
    add(meaning(found), () => found.index);
    end = found.index + found[0].length;
  }
  const from = end;
  add(text.slice(from), (offset) => from + offset);
  return { text: plain, at: (index) => at(starts[index] ?? text.length) };
}

function backslash([, unit, byte, sign = ""]: RegExpExecArray): string {
  const code = unit ?? byte;
  if (code !== undefined) return String.fromCharCode(Number(`0x${code}`));
  return CONTROLS[sign] ?? sign;
}

function percent(bytes: string): string {
  try {
    return decodeURIComponent(bytes);
  } catch {
    return bytes; // not a character: overlong, or half of a pair
  }
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}
