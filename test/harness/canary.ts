import { randomBytes } from "node:crypto";

/** The minimum length of a secret, so that ordinary words don't match it. */
export const SHORTEST = 8;

/** This many characters of a random value are enough to identify it. */
const PIECE = 12;

/** A value that must not leak, and the encodings in which it could. */
export class Canary {
  /** The encoding of each form. If two encodings give the same form, the first one counts. */
  private readonly forms = new Map<string, string>();

  /**
   * @param name the name of the value in reports of leaks
   * @param random whether the whole value is random; fragments, such as a log may contain, then count as leaks too
   */
  constructor(
    readonly name: string,
    readonly value: string,
    random = false,
  ) {
    if (value.length < SHORTEST) throw new TypeError(`${name} is too short: ordinary words could match it`);
    const whole = [...spellings(value)];
    const pieces = random ? whole.flatMap(([how, form]) => piecesOf(how, form)) : [];
    for (const [how, form] of [...whole, ...pieces]) if (!this.forms.has(form)) this.forms.set(form, how);
  }

  /** Finds the value in the text: its encoding and its position. Returns undefined if the text doesn't contain it. */
  in(text: string): { how: string; at: number } | undefined {
    for (const [form, how] of this.forms) {
      const at = text.indexOf(form);
      if (at >= 0) return { how, at };
    }
    return undefined;
  }
}

/** A unique bearer token (RFC 6750, b64token), with characters that URL encoding and base64 change. */
export function randomToken(): string {
  return `${randomText()}+/~${randomText()}=`;
}

/** A unique value for a secret input. */
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

/** The base64 characters that depend only on the value, if `before` bytes (modulo 3) precede it. */
function inBase64(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const text = bytes.toString("base64").replace(/=+$/, "");
  const mixedWithNext = bytes.length % 3 === 0 ? 0 : 1;
  const mixedWithPrevious = [0, 2, 3][before] ?? 0;
  return text.slice(mixedWithPrevious, text.length - mixedWithNext);
}

/** Overlapping pieces of a form. Every part of it with at least 1.5 times the length of a piece contains a whole piece. */
function piecesOf(how: string, form: string): [how: string, piece: string][] {
  const pieces: [string, string][] = [];
  for (let at = 0; at + PIECE <= form.length; at += PIECE / 2)
    pieces.push([`${how}, in part`, form.slice(at, at + PIECE)]);
  return pieces;
}
