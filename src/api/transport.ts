import type { Connections } from "./connections";
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
  dispatcher: Connections,
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
  /** What to do about it, where the failure itself tells. */
  readonly hint?: string | undefined;
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
const UNTRUSTED = /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO_|SELF_SIGNED_|CERT_UNTRUSTED)/;
const NO_TLS = /^(ERR_SSL_|EPROTO$)/;

/** Reads what undici or Node threw; undefined for what neither of them would throw: a bug of ours. */
export function transportFailure(error: unknown): TransportFailure | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return undefined;
  const { code } = error;
  const refusedBy = /^Proxy response \((\d+)\)/.exec(error.message)?.[1];
  if (refusedBy !== undefined) return proxyFailure(Number(refusedBy));
  const final = FINAL.test(code);
  return {
    words: inShort(error.message) || code,
    neverSent: final || NEVER_SENT.has(code),
    final,
    hint: hintOn(code),
  };
}

/** OpenSSL tells its file and line, too: `…:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:…`. */
function inShort(message: string): string {
  const [, reason] = /\berror:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/.exec(message) ?? [];
  return reason === undefined ? message : `TLS: ${reason}`;
}

function proxyFailure(status: number): TransportFailure {
  const hint =
    status === 407
      ? "the proxy wants a user name and a password: HTTPS_PROXY=http://user:password@host:port"
      : "look at HTTPS_PROXY; a host that is to be reached without the proxy belongs into NO_PROXY";
  return {
    words: `the proxy answered ${status}`,
    neverSent: true,
    final: status < 500 && status !== 429,
    hint,
  };
}

function hintOn(code: string): string | undefined {
  if (UNTRUSTED.test(code))
    return (
      "this machine does not know the authority that signed the certificate: name a file with the authority's own " +
      "certificate (PEM) with cloudinfra:caFile or NODE_EXTRA_CA_CERTS"
    );
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "the certificate is another host's: check the address";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID")
    return "the certificate is out of date: look at this machine's clock; else its operators have to renew it";
  if (NO_TLS.test(code))
    return "what answered there does not speak TLS as this machine does: check the address and its port";
  return undefined;
}
