import { gzipSync } from "node:zlib";
import type { Reply } from "../../../src/emulator/reply";
import { SECRET, type Spelling, spelled, TOKEN } from "./nasty";
import type { Edit, Headers, Spoiling } from "./spoiling";

/** The reply with its fault. */
export type Outgoing =
  | {
      readonly kind: "reply";
      readonly status: number;
      readonly headers: Headers;
      readonly body: string | Buffer;
      readonly cut?: string;
    }
  | { readonly kind: "malformed"; readonly code: string | undefined; readonly rest: string }
  | { readonly kind: "error"; readonly code: string }
  | { readonly kind: "silence" };

/** What the service knows about the client and echoes. */
export interface Heard {
  readonly token: string;
  readonly secret: string;
  /** The number of requests so far. */
  readonly requests: number;
}

/** Returns the reply with a fault. @param plain the reply without the fault */
export function spoiled(plain: Reply, spoiling: Spoiling | undefined, heard: Heard): Outgoing {
  const reply = { kind: "reply", ...plain } as const;
  const fill = (text: string, how: Spelling = "as it is"): string =>
    text.replaceAll(TOKEN, spelled(heard.token, how)).replaceAll(SECRET, spelled(heard.secret, how));
  const headersOf = (headers: Headers): Headers =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        // A URL contains a token as one segment.
        const how = name === "location" ? "percent" : "as it is";
        const filled = (text: string): string => inHeader(fill(text, how));
        return [name, Array.isArray(value) ? value.map(filled) : filled(value)];
      }),
    );
  switch (spoiling?.kind) {
    case undefined:
    case "slow":
      return reply;
    case "connection":
      return { kind: "error", code: spoiling.code };
    case "silence":
      return { kind: "silence" };
    case "malformed":
      return { kind: "malformed", code: spoiling.code, rest: `${plain.body} ${heard.secret}` };
    case "gzip":
      return plain.body === ""
        ? reply
        : {
            ...reply,
            headers: { ...plain.headers, "content-encoding": "gzip" },
            body: gzipSync(plain.body),
          };
    case "cut": {
      const body = plain.body.slice(0, Math.floor(plain.body.length * spoiling.share));
      return { ...reply, body, ...(spoiling.broken && { cut: "UND_ERR_SOCKET" }) };
    }
    case "refusal":
      return {
        ...reply,
        ...spoiling,
        kind: "reply",
        headers: headersOf(spoiling.headers),
        body: fill(spoiling.body, spoiling.spelling),
      };
    case "decorated":
      return {
        ...reply,
        headers: { ...plain.headers, ...headersOf(spoiling.headers) },
        body: fill(decorated(plain.body, spoiling.fields)),
      };
    case "edited":
      return { ...reply, body: fill(edited(plain.body, spoiling.edits)) };
    case "instead":
      return { ...reply, status: spoiling.status, body: fill(spoiling.body) };
    case "another status":
      return { ...reply, status: spoiling.status };
    case "another object":
      return { ...reply, body: plain.body.replace(/"id":"[^"]*"/, `"id":${JSON.stringify(spoiling.id)}`) };
    case "links":
      return { ...reply, headers: { ...plain.headers, ...headersOf(spoiling.headers) } };
    case "list":
      return { ...reply, body: otherList(plain.body, spoiling.how, heard.requests) };
  }
}

/** Removes the characters that Node doesn't allow in headers. */
function inHeader(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");
}

function decorated(body: string, fields: readonly (readonly [string, string])[]): string {
  if (!body.startsWith("{")) return body;
  const more = fields.map(([name, json]) => `,${JSON.stringify(name)}:${json}`).join("");
  return `${body.slice(0, -1)}${body === "{}" ? more.slice(1) : more}}`;
}

interface Place {
  readonly holder: object;
  readonly key: string;
}

function placesIn(holder: object): Place[] {
  return Object.entries(holder).flatMap(([key, value]) => [
    { holder, key },
    ...(typeof value === "object" && value !== null ? placesIn(value) : []),
  ]);
}

function edited(body: string, edits: readonly Edit[]): string {
  if (body === "") return body;
  const root: { body?: unknown } = { body: JSON.parse(body) };
  for (const [number, { at, how, name }] of edits.entries()) {
    const places = placesIn(root);
    const place = places[at % places.length];
    if (place === undefined) continue;
    const { holder, key } = place;
    if (how === "drop") Reflect.deleteProperty(holder, key);
    else if (how === "replace") Reflect.set(holder, key, `@json ${number}@`);
    else if (Array.isArray(holder))
      holder.push(how === "double" ? Reflect.get(holder, key) : `@json ${number}@`);
    else Reflect.set(holder, name, `@json ${number}@`);
  }
  return (JSON.stringify(root.body) ?? "").replace(
    /"@json (\d+)@"/g,
    (_, number) => edits[Number(number)]?.json ?? "null",
  );
}

function otherList(body: string, how: Extract<Spoiling, { kind: "list" }>["how"], requests: number): string {
  const list: unknown = body === "" ? undefined : JSON.parse(body);
  if (typeof list !== "object" || list === null || !("items" in list) || !Array.isArray(list.items))
    return body;
  const { items } = list;
  if (how === "same cursor") return JSON.stringify({ ...list, next_cursor: "again", has_more: true });
  if (how === "no cursor") return JSON.stringify({ ...list, next_cursor: null, has_more: true });
  if (how === "doubled") return JSON.stringify({ ...list, items: [...items, ...items] });
  if (how === "endless")
    return JSON.stringify({ ...list, items: [], next_cursor: `c${requests}`, has_more: true });
  return JSON.stringify({ ...list, items: items.slice(1) });
}
