import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { codeOf } from "../diagnostics/error";
import { truncated, withoutMarkup } from "../diagnostics/redact";

export interface JsonObject {
  readonly [name: string]: unknown;
}

export type Body =
  | { readonly kind: "empty" }
  | { readonly kind: "json"; readonly value: unknown }
  | {
      readonly kind: "unreadable";
      readonly what: "html" | "broken JSON" | "no JSON";
      /** The start of the body. The excerpt of invalid JSON is empty, because the JSON may contain secrets. */
      readonly excerpt: string;
      /** The length in characters. */
      readonly length: number;
    }
  | Exclude<Content, { kind: "text" }>;

export type Content =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too large" }
  /** The body is corrupt or has an unsupported content encoding. */
  | { readonly kind: "undecodable"; readonly coding: string };

/** The maximum size of a body in bytes. A page of 200 objects is far smaller. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const MAX_EXCERPT_CHARACTERS = 200;

/** The maximum length of strings in messages. Longer strings are truncated before redaction, because redaction is slow. */
const MAX_SHOWN_CHARACTERS = 10_000;

/** The maximum total length of the strings of one reply in messages. Further strings are replaced, because redaction is slow. */
const MAX_REDACTED_CHARACTERS = 50_000;

const DECODERS: ReadonlyMap<string, typeof zlib.gunzip> = new Map([
  ["gzip", zlib.gunzip],
  ["x-gzip", zlib.gunzip],
  ["deflate", zlib.inflate],
  ["br", zlib.brotliDecompress],
]);

/**
 * Reads and decompresses a body. Stops if the body exceeds `MAX_BODY_BYTES`.
 *
 * @param encoding the Content-Encoding header. Services and proxies may compress although the client accepts only `identity`
 */
export async function readContent(stream: Readable, encoding = ""): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    // Leaving the loop destroys the stream and closes the connection.
    if (size > MAX_BODY_BYTES) return { kind: "too large" };
    chunks.push(bytes);
  }
  const bytes = Buffer.concat(chunks);
  const coding = encoding.trim().toLowerCase();
  try {
    const decode = DECODERS.get(coding);
    if (decode !== undefined)
      return text(await promisify(decode)(bytes, { maxOutputLength: MAX_BODY_BYTES }));
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") return { kind: "too large" };
  }
  // The header may be wrong, or a proxy may have decompressed the body without changing the header.
  const isText = coding === "" || coding === "identity" || isUtf8(bytes);
  return isText ? text(bytes) : { kind: "undecodable", coding };
}

function text(bytes: Buffer): Content {
  return { kind: "text", text: new TextDecoder().decode(bytes) };
}

/** Parses a body by its content, because the content type may be wrong. `clean` removes secrets from the excerpt. */
export function parseBody(text: string, clean: (text: string) => string): Body {
  const trimmed = text.trim();
  if (trimmed === "") return { kind: "empty" };
  try {
    return { kind: "json", value: limitNesting(parseJson(trimmed)) };
  } catch {
    const what = trimmed.startsWith("<") ? "html" : /^[[{"]/.test(trimmed) ? "broken JSON" : "no JSON";
    const start = what === "broken JSON" ? "" : excerpt(clean(truncated(trimmed, MAX_SHOWN_CHARACTERS)));
    return { kind: "unreadable", what, excerpt: start, length: text.length };
  }
}

/** Parses JSON. Integers beyond the safe range become strings, because ids must stay exact. */
function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    const inexact =
      typeof value === "number" &&
      source !== undefined &&
      /^-?\d+$/.test(source) &&
      !Number.isSafeInteger(value);
    return inexact ? source : value;
  });
}

/** Removes secrets from a JSON value, truncates long strings, and replaces the rest of a large value by "…". */
export function redactJson(value: unknown, clean: (text: string) => string): unknown {
  let left = MAX_REDACTED_CHARACTERS;
  const redacted = (text: string): string => {
    // A string is replaced as a whole, because a part of a secret would not be recognized.
    if (left <= 0) return "…";
    const shown = truncated(text, MAX_SHOWN_CHARACTERS);
    left -= shown.length;
    return clean(shown);
  };
  const visit = (item: unknown): unknown => {
    if (typeof item === "string") return redacted(item);
    if (typeof item !== "object" || item === null) return item;
    if (Array.isArray(item)) return item.map(visit);
    if (left <= 0) return "…";
    // Lists come last, because a long list must not use up the limit before the code of the problem.
    const nesting = (member: unknown): number => (typeof member === "object" ? 1 : 0);
    const sorted = Object.entries(item).sort(([, one], [, other]) => nesting(one) - nesting(other));
    return Object.fromEntries(sorted.map(([key, member]) => [redacted(key), visit(member)]));
  };
  return visit(value);
}

/** Returns the start of a string without its markup. */
export function excerpt(text: string): string {
  return truncated(withoutMarkup(truncated(text, 20 * MAX_EXCERPT_CHARACTERS)), MAX_EXCERPT_CHARACTERS);
}

/** The maximum nesting of a reply, which recursive functions can handle. Replies from this API are never nested so deeply. */
const MAX_DEPTH = 64;

/** Replaces values that are nested too deeply with `null`, because recursive functions could overflow the stack. */
export function limitNesting(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => limitNesting(item, depth + 1));
  const members = Object.entries(value).map(([key, member]) => [key, limitNesting(member, depth + 1)]);
  return Object.fromEntries(members);
}
