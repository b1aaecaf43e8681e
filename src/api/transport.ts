import { type Problem, parseProblem } from "../diagnostics/problem";
import { type Body, type Content, parseBody, readContent, redactJson } from "./body";
import type { Connections } from "./connections";

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
  readonly body: Body;
  /** What a reply other than a success says about its problem. */
  readonly problem?: Problem | undefined;
}

/** How one attempt of a request ended. */
export type Attempt =
  | { readonly kind: "reply"; readonly reply: WireReply }
  | { readonly kind: "failure"; readonly failure: TransportFailure }
  /** The time for the attempt passed. */
  | { readonly kind: "silence"; readonly neverSent: boolean };

/** Why an exchange brought no reply. */
export interface TransportFailure {
  /** What went wrong, without secrets. */
  readonly words: string;
  /** No connection was established, so nothing of the request reached the service. */
  readonly neverSent: boolean;
  /** A retry can't help: the host's certificate is wrong, or the request can't be made. */
  readonly final: boolean;
  /** What to do about it, if the failure itself tells. */
  readonly hint?: string | undefined;
  /** The HTTP library's error without its properties, which can hold the rest of a reply. */
  readonly cause: Error;
}
/** Milliseconds until the head of a reply must be there, and between two pieces of its body. */
const SILENCE_MS = 30_000;

export interface ExchangeOptions {
  /** Removes secrets from a text that will be shown. */
  readonly clean: (text: string) => string;
  readonly signal: AbortSignal;
  /** Called when an established connection takes the request. */
  readonly onStart: () => void;
}

/** Sends a request once, without following redirects. Whatever the HTTP library throws becomes a failure. */
export async function exchange(
  connections: Connections,
  { method, url, headers, body: text }: WireRequest,
  { clean, signal, onStart }: ExchangeOptions,
): Promise<Attempt> {
  let neverSent = true;
  const request = {
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers,
    body: text ?? null,
    signal,
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
  };
  const start = (): void => {
    neverSent = false;
    onStart();
  };
  let status: number;
  let replyHeaders: Readonly<Record<string, string | string[] | undefined>>;
  let content: Content;
  try {
    const reply = await connections.send(request, start);
    status = reply.statusCode;
    replyHeaders = reply.headers;
    content = await readContent(reply.body, single(replyHeaders["content-encoding"]));
  } catch (error) {
    return { kind: "failure", failure: transportFailure(error, { url, neverSent, clean }) };
  }
  const header = (name: string) => single(replyHeaders[name]);
  if (content.kind !== "text") return { kind: "reply", reply: { status, header, body: content } };
  // A success is left as it came: it may end in the state. All else is only ever shown.
  const isSuccess = status < 300;
  const parsed = parseBody(content.text, clean);
  const body =
    isSuccess || parsed.kind !== "json" ? parsed : { ...parsed, value: redactJson(parsed.value, clean) };
  const problem = isSuccess || body.kind !== "json" ? undefined : parseProblem(body.value);
  return { kind: "reply", reply: { status, header, body, problem } };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

const FINAL =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL_|UND_ERR_INVALID_ARG|ERR_INVALID_|EPROTO$)/;
const UNTRUSTED = /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO_|SELF_SIGNED_|CERT_UNTRUSTED)/;
const NO_TLS = /^(ERR_SSL_|EPROTO$)/;

/**
 * Reads what undici, Node or a proxy failed with. Any error can be one: undici's parser errors have no code, and its assertions are no
 * errors of its own.
 *
 * @param options.neverSent whether no connection had been established when it failed
 * @param options.clean removes secrets from a text that will be shown
 */
export function transportFailure(
  error: unknown,
  { url, neverSent, clean }: { url: URL; neverSent: boolean; clean: (text: string) => string },
): TransportFailure {
  const code = codeOf(error);
  const message = clean(messageOf(error) || code || "unknown error");
  const cause = Object.assign(new Error(message), code !== undefined && { code });
  // In reply to CONNECT, or, in front of http, to the request itself: either way the proxy has kept it.
  const denial = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(message)?.[1];
  if (denial !== undefined) return { ...proxyFailure(Number(denial), url), neverSent: true, cause };
  return {
    words: shortTlsMessage(message),
    neverSent,
    final: neverSent && FINAL.test(code ?? ""),
    hint: neverSent ? hintOn(code ?? "") : undefined,
    cause,
  };
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** The error's own message, or those of the errors that it collects: one for each address of a host. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** OpenSSL tells its file and line, too: `…:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:…`. */
function shortTlsMessage(message: string): string {
  const [, reason] = /\berror:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/.exec(message) ?? [];
  return reason === undefined ? message : `TLS: ${reason}`;
}

/** The variable that names the proxy for an address. */
const proxyVariable = ({ protocol }: Pick<URL, "protocol">): string =>
  protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";

/** What to do about a proxy's 407. */
export const proxyLoginHint = (url: Pick<URL, "protocol">): string =>
  `Give the proxy's user name and password: ${proxyVariable(url)}=http://user:password@host:port`;

function proxyFailure(status: number, url: URL): Pick<TransportFailure, "words" | "final" | "hint"> {
  return {
    words: `the proxy answered ${status}`,
    final: status < 500 && status !== 429,
    hint:
      status === 407
        ? proxyLoginHint(url)
        : `Check ${proxyVariable(url)}. If the proxy can't reach the host, add the host to NO_PROXY`,
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
