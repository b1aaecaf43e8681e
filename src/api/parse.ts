import type { Readable } from "node:stream";
import { shallow } from "./shallow";

/** A reply's body, read but not yet judged. */
export type Body =
  | { readonly kind: "empty" }
  | { readonly kind: "json"; readonly value: unknown }
  /** Neither empty nor JSON: HTML, cut off, or anything else. */
  | {
      readonly kind: "unreadable";
      readonly what: "html" | "broken JSON" | "no JSON";
      readonly excerpt: string;
    };

/** Larger bodies are refused: 200 items of a list are far below it. */
export const LARGEST_BODY = 16 * 1024 * 1024;

const EXCERPT = 200;

/**
 * Reads a body as text, chunk by chunk, so that its size is known before all of it is in memory.
 *
 * @returns undefined when it is larger than {@link LARGEST_BODY}; the rest is then not read
 */
export async function readText(stream: Readable): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > LARGEST_BODY) return undefined;
    chunks.push(bytes);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
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
    return { kind: "json", value: parseJson(shallow(trimmed)) };
  } catch {
    const what = trimmed.startsWith("<") ? "html" : /^[[{"]/.test(trimmed) ? "broken JSON" : "no JSON";
    const start = excerpt(clean(trimmed));
    // JSON that breaks off may do so in the middle of a secret, which is known by its beginning only where it is seen to be cut.
    const isCut = what === "broken JSON" && start !== "" && !start.endsWith("…");
    return { kind: "unreadable", what, excerpt: isCut ? `${start}…` : start };
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

/** The start of a text without its markup. */
function excerpt(text: string): string {
  const plain = text
    .slice(0, 20 * EXCERPT)
    .replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ")
    .replace(/<[^>]*(>|$)/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return plain.length > EXCERPT ? `${plain.slice(0, EXCERPT)}…` : plain;
}
