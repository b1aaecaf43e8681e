import { randomBytes } from "node:crypto";

/** The shortest secret that can be told from ordinary words. */
export const SHORTEST = 8;

/** As many characters of a value that was made up by chance stand in no other text. */
const PIECE = 12;

/** A value that must not get out, and the spellings in which it could. */
export class Canary {
  /** How each form is called; of several names for one, the first. */
  private readonly forms = new Map<string, string>();

  /**
   * @param name how a leak calls it
   * @param random whether all of it is made up by chance: then pieces of it are looked for too, as a log cuts them
   */
  constructor(
    readonly name: string,
    readonly value: string,
    random = false,
  ) {
    if (value.length < SHORTEST) throw new TypeError(`${name} is too short to be told from other words`);
    const whole = [...spellings(value)];
    const pieces = random ? whole.flatMap(([how, form]) => piecesOf(how, form)) : [];
    for (const [how, form] of [...whole, ...pieces]) if (!this.forms.has(form)) this.forms.set(form, how);
  }

  /** How the value stands in the text, and where it begins; undefined where it does not. */
  in(text: string): { how: string; at: number } | undefined {
    for (const [form, how] of this.forms) {
      const at = text.indexOf(form);
      if (at >= 0) return { how, at };
    }
    return undefined;
  }
}

/** A bearer token such as no other text holds, with the characters that other spellings change (RFC 6750, b64token). */
export function randomToken(): string {
  return `${randomText()}+/~${randomText()}=`;
}

/** A value for a secret input such as no other text holds. */
export function randomText(): string {
  return randomBytes(18).toString("base64url").replace(/[-_]/g, "x");
}

function* spellings(value: string): Generator<[how: string, form: string]> {
  const escaped = JSON.stringify(value).slice(1, -1);
  const encoded = encodeURIComponent(value.toWellFormed());
  yield ["as it is", value];
  yield ["JSON-escaped", escaped];
  yield ["JSON-escaped twice", JSON.stringify(escaped).slice(1, -1)];
  yield ["URL-encoded", encoded];
  yield ["URL-encoded", encoded.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())];
  yield ["URL-encoded", encoded.replaceAll("%20", "+")];
  yield ["in hexadecimal", Buffer.from(value).toString("hex")];
  for (const before of [0, 1, 2]) {
    const form = inBase64(value, before);
    yield ["in base64", form];
    yield ["in base64", form.replaceAll("+", "-").replaceAll("/", "_")];
  }
}

/** The characters that base64 makes of the value alone, where so many bytes (modulo three) stand before it. */
function inBase64(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const text = bytes.toString("base64").replace(/=+$/, "");
  const mixedWithNext = bytes.length % 3 === 0 ? 0 : 1;
  const mixedWithPrevious = [0, 2, 3][before] ?? 0;
  return text.slice(mixedWithPrevious, text.length - mixedWithNext);
}

/** Pieces of a form: a part of it that is half as long again as a piece holds one of them whole. */
function piecesOf(how: string, form: string): [how: string, piece: string][] {
  const pieces: [string, string][] = [];
  for (let at = 0; at + PIECE <= form.length; at += PIECE / 2)
    pieces.push([`${how}, in part`, form.slice(at, at + PIECE)]);
  return pieces;
}
