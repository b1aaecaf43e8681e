import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { truncated, withoutMarkup } from "../diagnostics/redact";

/** A JSON object with any members. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

/** The parsed body of a reply. */
export type Body =
  | { readonly kind: "empty" }
  | { readonly kind: "json"; readonly value: unknown }
  /** The body is neither empty nor valid JSON. */
  | {
      readonly kind: "unreadable";
      readonly what: "html" | "broken JSON" | "no JSON";
      /** The start of the body. The excerpt of invalid JSON is empty, because the JSON may contain secrets. */
      readonly excerpt: string;
      /** The length in characters. */
      readonly length: number;
    }
  | Exclude<Content, { kind: "text" }>;

/** The decoded body of a reply, before parsing. */
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

const decoders: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: decoder(zlib.gunzip),
  "x-gzip": decoder(zlib.gunzip),
  deflate: decoder(zlib.inflate),
  br: decoder(zlib.brotliDecompress),
};

function decoder(decompress: typeof zlib.gunzip): (bytes: Buffer) => Promise<Buffer> {
  return (bytes) => promisify(decompress)(bytes, { maxOutputLength: MAX_BODY_BYTES });
}

/**
 * Reads and decompresses a body. Stops if the body exceeds `MAX_BODY_BYTES`.
 *
 * @param coding the Content-Encoding header. Services and proxies may compress although the client accepts only `identity`
 */
export async function readContent(stream: Readable, coding = ""): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    // Leaving the loop destroys the stream and closes the connection.
    if (size > MAX_BODY_BYTES) return { kind: "too large" };
    chunks.push(bytes);
  }
  return decodeContent(Buffer.concat(chunks), coding.trim().toLowerCase());
}

async function decodeContent(bytes: Buffer, coding: string): Promise<Content> {
  if (coding === "" || coding === "identity") return text(bytes);
  try {
    const decode = decoders[coding];
    if (decode !== undefined) return text(await decode(bytes));
  } catch (error) {
    const isTooLarge =
      error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    if (isTooLarge) return { kind: "too large" };
  }
  // The header may be wrong, or a proxy may have decompressed the body without changing the header.
  return isUtf8(bytes) ? text(bytes) : { kind: "undecodable", coding };
}

function text(bytes: Buffer): Content {
  return { kind: "text", text: new TextDecoder().decode(bytes) };
}

/**
 * Parses a body by its content, because the content type may be wrong.
 *
 * @param clean removes secrets from a string for messages
 */
export function parseBody(text: string, clean: (text: string) => string): Body {
  const trimmed = text.trim();
  if (trimmed === "") return { kind: "empty" };
  try {
    return { kind: "json", value: parseJson(limitNesting(trimmed)) };
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
    const members = Object.entries(item);
    const isList = ([, member]: [string, unknown]): boolean => typeof member === "object";
    // Lists come last, because a long list must not use up the limit before the code of the problem.
    const sorted = [...members.filter((member) => !isList(member)), ...members.filter(isList)];
    return Object.fromEntries(sorted.map(([key, member]) => [redacted(key), visit(member)]));
  };
  return visit(value);
}

/** Returns the start of a string without its markup. */
export function excerpt(text: string): string {
  return truncated(withoutMarkup(text.slice(0, 20 * MAX_EXCERPT_CHARACTERS)), MAX_EXCERPT_CHARACTERS);
}

/** The maximum nesting of a reply, which recursive functions can handle. Replies from this API are never nested so deeply. */
const MAX_DEPTH = 100;

/**
 * Replaces values that are nested too deeply with `null`, because recursive functions could overflow the stack. For invalid JSON, the
 * result is unspecified.
 */
export function limitNesting(text: string): string {
  let kept = "";
  let from = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isInString) {
      if (char === "\\") at++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === "[" || char === "{") {
      depth++;
      if (depth === MAX_DEPTH + 1) kept += `${text.slice(from, at)}null`;
    } else if (char === "]" || char === "}") {
      if (depth === MAX_DEPTH + 1) from = at + 1;
      depth--;
    }
  }
  return kept + (depth > MAX_DEPTH ? "" : text.slice(from));
}
