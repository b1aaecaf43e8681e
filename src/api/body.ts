import type { Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { withoutMarkup } from "../diagnostics/redact";

/** A reply's body, read but not yet judged. */
export type Body =
  | { readonly kind: "empty" }
  | { readonly kind: "json"; readonly value: unknown }
  /** Neither empty nor JSON: HTML, cut off, or anything else. */
  | {
      readonly kind: "unreadable";
      readonly what: "html" | "broken JSON" | "no JSON";
      /** Empty for broken JSON, which may hold as much as the object itself. */
      readonly excerpt: string;
      /** In characters. */
      readonly length: number;
    }
  | Exclude<Content, { kind: "text" }>;

/** A body as far as it can be read without judging it. */
export type Content =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too large" }
  /** Damaged, or in a content coding that isn't supported. */
  | { readonly kind: "undecodable"; readonly coding: string };

/** Larger bodies are refused: 200 items of a list are far below it. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

const MAX_EXCERPT_CHARACTERS = 200;

/** Of a longer text, nobody needs to see more. To take secrets out of all of it would take long. */
const MAX_SHOWN_CHARACTERS = 10_000;

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
 * Reads a body chunk by chunk, so that its size is known before all of it is in memory. The rest of a body larger than
 * {@link MAX_BODY_BYTES} isn't read.
 *
 * @param coding the Content-Encoding header: services and proxies may compress although the client asks for `identity`
 */
export async function readContent(stream: Readable, coding = ""): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > MAX_BODY_BYTES) return { kind: "too large" };
    chunks.push(bytes);
  }
  return decodeContent(Buffer.concat(chunks), coding.trim().toLowerCase());
}

async function decodeContent(bytes: Buffer, coding: string): Promise<Content> {
  if (bytes.length === 0 || coding === "" || coding === "identity") return text(bytes);
  try {
    const decode = decoders[coding];
    return decode === undefined ? { kind: "undecodable", coding } : text(await decode(bytes));
  } catch (error) {
    const isTooLarge =
      error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    return isTooLarge ? { kind: "too large" } : { kind: "undecodable", coding };
  }
}

function text(bytes: Buffer): Content {
  return { kind: "text", text: new TextDecoder().decode(bytes) };
}

/**
 * Parses a body by what it is, not by its content type: services and proxies mislabel both ways.
 *
 * @param clean takes secrets out of a text that will be shown
 */
export function parseBody(text: string, clean: (text: string) => string): Body {
  const trimmed = text.trim();
  if (trimmed === "") return { kind: "empty" };
  try {
    return { kind: "json", value: parseJson(limitNesting(trimmed)) };
  } catch {
    const what = trimmed.startsWith("<") ? "html" : /^[[{"]/.test(trimmed) ? "broken JSON" : "no JSON";
    const start = what === "broken JSON" ? "" : excerpt(clean(truncated(trimmed)));
    return { kind: "unreadable", what, excerpt: start, length: text.length };
  }
}

/** JSON in which integers that a number can't hold stay exact, as strings: ids are compared. */
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

/** A JSON value as it may be shown: long texts are shortened and have no secrets, which their JSON may have escaped. */
export function redactJson(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === "string") return clean(truncated(value));
  if (Array.isArray(value)) return value.map((item) => redactJson(item, clean));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [clean(name), redactJson(item, clean)]),
  );
}

function truncated(text: string): string {
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}

/** The start of a text without its markup. */
export function excerpt(text: string): string {
  const plain = withoutMarkup(text.slice(0, 20 * MAX_EXCERPT_CHARACTERS));
  return plain.length > MAX_EXCERPT_CHARACTERS ? `${plain.slice(0, MAX_EXCERPT_CHARACTERS)}…` : plain;
}

/** How many maps and lists may stand in each other: far more than any reply of this API has, and far fewer than would fill a stack. */
const MAX_DEPTH = 100;

/**
 * A JSON text with `null` for whatever is nested too deep: all that goes down a reply by calling itself would fail there,
 * and no reply may be able to fail a creation by its form. Of a text that is no JSON nothing is promised.
 */
export function limitNesting(text: string): string {
  let kept = "";
  let from = 0;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isInText) {
      if (char === "\\") at++;
      else if (char === '"') isInText = false;
    } else if (char === '"') isInText = true;
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
