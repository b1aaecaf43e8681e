import type { Dispatcher } from "undici";
import { type Body, parseBody, readText } from "./parse";

/** One HTTP exchange, as it goes on the wire. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** What came back, whatever its status. */
export interface WireReply {
  readonly status: number;
  /** Undefined where the header is missing. */
  header(name: string): string | undefined;
  readonly body: Body | { readonly kind: "too large" };
}

/** Milliseconds until a connection must stand. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Milliseconds until the head of a reply must be there, and between two pieces of its body. */
const SILENCE_MS = 30_000;

/**
 * Sends a request once. Redirects are not followed.
 *
 * @param clean takes secrets out of a text that will be shown
 */
export async function exchange(
  dispatcher: Dispatcher,
  { method, url, headers, body }: WireRequest,
  clean: (text: string) => string,
  signal: AbortSignal,
): Promise<WireReply> {
  const reply = await dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers,
    body: body ?? null,
    signal,
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
  });
  const text = await readText(reply.body);
  const header = (name: string) => {
    const value = reply.headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  const status = reply.statusCode;
  if (text === undefined) return { status, header, body: { kind: "too large" } };
  // A success is left as it came: it may end in the state. All else is only ever shown.
  return { status, header, body: parseBody(status < 300 ? text : clean(text), clean) };
}

/** Why an exchange brought no reply. */
export interface TransportFailure {
  /** Words for it, without secrets. */
  readonly words: string;
  /** The request can't have arrived. */
  readonly neverSent: boolean;
  /** Trying again can't help: the host's certificate is wrong, or the request can't be made. */
  readonly final: boolean;
}

const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const FINAL =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL_|UND_ERR_INVALID_ARG|ERR_INVALID_|EPROTO$)/;

/** Reads what undici or Node threw; undefined for what neither of them would throw: a bug of ours. */
export function transportFailure(error: unknown): TransportFailure | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return undefined;
  const final = FINAL.test(error.code);
  return { words: error.message || error.code, neverSent: final || NEVER_SENT.has(error.code), final };
}
