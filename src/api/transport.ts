import { codeOf } from "../diagnostics/error";
import { type Problem, parseProblem } from "../diagnostics/problem";
import { type Body, type Content, parseBody, readContent, redactJson } from "./body";
import type { Connections } from "./connections";
import { parseRetryAfter } from "./rate-limiter";

export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface WireReply {
  readonly status: number;
  /** Returns the first value of a header, or `undefined` if the header is missing. */
  header(name: string): string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly body: Body;
  /** The problem document of a reply that isn't a success. */
  readonly problem?: Problem | undefined;
}

export type Attempt =
  | { readonly kind: "reply"; readonly reply: WireReply }
  | { readonly kind: "failure"; readonly failure: TransportFailure }
  /** The attempt received no reply within its time limit. */
  | { readonly kind: "timeout"; readonly neverSent: boolean };

/** The reason why an attempt received no reply. */
export interface TransportFailure {
  readonly description: string;
  /** Whether no connection was established, so that the service has received nothing. */
  readonly neverSent: boolean;
  /** Whether a retry is useless, because the certificate or the request is invalid. */
  readonly final: boolean;
  readonly hint?: string | undefined;
  /** A copy of the HTTP library's error without its properties, which may contain parts of a reply. */
  readonly cause: Error;
}

interface AttemptOptions {
  /** Removes secrets from a string for messages. */
  readonly clean: (text: string) => string;
  readonly signal: AbortSignal;
  /** Records whether an established connection has started to send the request. */
  readonly delivery: { neverSent: boolean };
  /** The maximum time without data, before the headers and between two chunks of the body, in milliseconds. @default 30000 */
  readonly silenceMs?: number;
}

/** Sends a request to the API once. Errors of the HTTP library are returned as failures. */
export async function exchange(
  connections: Connections,
  request: WireRequest,
  options: AttemptOptions,
): Promise<Attempt> {
  const received = await receive(connections, request, options);
  if ("failure" in received) return { kind: "failure", ...received };
  const { content, ...head } = received;
  if (content.kind !== "text") return { kind: "reply", reply: { ...head, body: content } };
  const parsed = parseBody(content.text, options.clean);
  // The body of a successful reply is not redacted, because it becomes part of the state. Other bodies are used only in messages.
  if (head.status < 300 || parsed.kind !== "json") return { kind: "reply", reply: { ...head, body: parsed } };
  const value = redactJson(parsed.value, options.clean);
  return { kind: "reply", reply: { ...head, body: { ...parsed, value }, problem: parseProblem(value) } };
}

/** Sends a request once without following redirects, and reads the complete reply. */
export async function receive(
  connections: Connections,
  { method, url, headers, body }: WireRequest,
  { clean, signal, delivery, silenceMs = 30_000 }: AttemptOptions,
): Promise<
  (Omit<WireReply, "body" | "problem"> & { readonly content: Content }) | { failure: TransportFailure }
> {
  const target = { origin: url.origin, path: url.pathname + url.search };
  const timeouts = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
  try {
    const reply = await connections.send(
      { ...target, method, headers, body: body ?? null, signal, ...timeouts },
      () => {
        delivery.neverSent = false;
      },
    );
    const header = (name: string): string | undefined => {
      const value = reply.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    const content = await readContent(reply.body, header("content-encoding"));
    return { status: reply.statusCode, header, retryAfterMs: parseRetryAfter(header), content };
  } catch (error) {
    return { failure: transportFailure(error, { url, clean, ...delivery }) };
  }
}

const FINAL =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL_|UND_ERR_INVALID_ARG|ERR_INVALID_|EPROTO$)/;
const UNTRUSTED = /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO_|SELF_SIGNED_|CERT_UNTRUSTED)/;
const NO_TLS = /^(ERR_SSL_|EPROTO$)/;
/** Matches an OpenSSL error, such as `…:SSL routines:tls_validate_record_header:wrong version number:…`, and its reason. */
const OPENSSL_ERROR = /^.*?\berror:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s;

/** Describes an error from undici, Node.js or a proxy. undici's parser errors and assertions have no common type. */
function transportFailure(
  error: unknown,
  { url, neverSent, clean }: { url: URL; neverSent: boolean; clean: (text: string) => string },
): TransportFailure {
  const code = codeOf(error);
  const message = clean(messageOf(error) || code || "unknown error");
  const cause = Object.assign(new Error(message), code !== undefined && { code });
  // If a proxy rejects a CONNECT or a plain HTTP request, the service receives nothing.
  const denial = Number(/^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(message)?.[1]);
  if (!Number.isNaN(denial)) {
    const checkProxy = `Check ${proxyVariable(url)}. If the proxy can't reach the host, add the host to NO_PROXY`;
    return {
      description: `the proxy returned ${denial}`,
      neverSent: true,
      final: denial < 500 && denial !== 429,
      hint: denial === 407 ? proxyLoginHint(url) : checkProxy,
      cause,
    };
  }
  return {
    description: message.replace(OPENSSL_ERROR, "TLS: $1"),
    neverSent,
    final: neverSent && FINAL.test(code ?? ""),
    hint: neverSent ? hintFor(code ?? "") : undefined,
    cause,
  };
}

/** Returns the message of an error. An aggregate error without a message contains one error for each address of a host. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

const proxyVariable = ({ protocol }: Pick<URL, "protocol">): string =>
  protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";

/** Returns the hint for a 407 reply from a proxy. */
export const proxyLoginHint = (url: Pick<URL, "protocol">): string =>
  `Set the proxy's user name and password: ${proxyVariable(url)}=http://user:password@host:port`;

function hintFor(code: string): string | undefined {
  if (UNTRUSTED.test(code))
    return (
      "Set `cloudinfra:caFile` or NODE_EXTRA_CA_CERTS to a PEM file with the certificate of the authority that " +
      "signed the service's certificate"
    );
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "Check the host of the endpoint: the certificate is for a different host";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID")
    return "Check this machine's clock. If the clock is correct, ask the service's operators to renew the certificate";
  if (NO_TLS.test(code))
    return "Check the host and port of the endpoint. The server doesn't use TLS, or uses an incompatible TLS version";
  return undefined;
}
