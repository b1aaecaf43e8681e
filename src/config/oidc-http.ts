import * as v from "valibot";
import type { Connections } from "../api/connections";
import { isLoopback } from "../api/endpoint";
import { isTransient, retryAfterMs } from "../api/retry";
import { receive } from "../api/transport";
import { CloudInfraError, type ErrorDetails } from "../diagnostics/error";
import { redact, truncated } from "../diagnostics/redact";

export interface TokenRequest {
  /** The subject of error messages, such as "the token exchange". */
  readonly what: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The form to send with POST. Without a form, the request uses GET. */
  readonly form?: URLSearchParams;
}

export interface TokenConnection {
  readonly dispatcher: Connections;
  readonly signal: AbortSignal;
  /** The strings to remove from error messages. Callers add every secret that they send. */
  readonly secrets: string[];
}

/** A failure after which another attempt may succeed. */
export class TransientError extends Error {
  constructor(readonly error: CloudInfraError) {
    super(error.message);
  }
}

/** The maximum time without data from the token service, in milliseconds. */
const SILENCE_MS = 20_000;
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const REPORT =
  "Check the address. If the address is correct, report the problem to the operators of the token service.";

/**
 * Sends a request to a token service, and parses the JSON reply, which must have status 200. Redirects are not followed, because another
 * server could receive tokens. Errors contain no part of a reply except the `error` and `error_description` of a rejection.
 *
 * @throws CloudInfraError, or `TransientError` if another attempt may succeed
 */
export async function requestJson<T>(
  { what, url, headers, form }: TokenRequest,
  schema: v.GenericSchema<unknown, T>,
  { dispatcher, signal, secrets }: TokenConnection,
): Promise<T> {
  const at = `${what} at ${url.origin}${url.pathname}`;
  const clean = (text: string): string => redact(text, secrets);
  const failed = (code: CloudInfraError["code"], message: string, details: ErrorDetails) =>
    new CloudInfraError(code, clean(message), details);
  const unusable = (why: string) => failed("bad_reply", `the reply from ${at} ${why}`, { hint: REPORT });

  const common = { accept: "application/json", "accept-encoding": "identity", ...(form && FORM) };
  const method = form ? "POST" : "GET";
  const received = await receive(
    dispatcher,
    { method, url, headers: { ...common, ...headers }, body: form?.toString() },
    { clean, signal, delivery: { neverSent: true }, silenceMs: SILENCE_MS },
  );
  if ("failure" in received) {
    signal.throwIfAborted();
    // The original error isn't set as the cause, because it may contain part of the reply, such as a token.
    const {
      description,
      final,
      hint = "Check the address, and make sure that this machine can reach the host.",
    } = received.failure;
    const unreachable = failed("unreachable", `${at} can't be reached: ${description}`, { hint });
    throw final ? unreachable : new TransientError(unreachable);
  }
  const { status, header, content } = received;
  if (content.kind === "too large") throw unusable("is too large");
  if (content.kind === "undecodable")
    throw unusable(`has the content encoding ${content.coding}, which can't be decoded`);
  if (status === 200) return parseReply(content.text, schema, unusable);
  if (status < 300) throw unusable(`has status ${status} instead of 200`);
  if (status < 400) {
    const { origin = "nowhere" } = URL.parse(header("location") ?? "", url.href) ?? {};
    throw failed("not_this_service", `${at} returned a redirect (${status}) to ${origin}`, {
      hint: "Check the address. Redirects are not followed, because tokens are sent only to the configured address.",
    });
  }
  const reason = reasonIn(content.text);
  if (!isTransient(status))
    throw failed("unauthorized", `${at} rejected the request: ${reason} (${status})`, {
      hint: hintOn(reason),
    });
  throw new TransientError(
    failed("unavailable", `${at} failed: ${reason} (${status})`, {
      hint: "Run the command again when the token service is available.",
      retryAfterMs: retryAfterMs(header),
    }),
  );
}

/** Parses a reply. Errors don't quote the reply, because it may contain a token. */
function parseReply<T>(
  text: string,
  schema: v.GenericSchema<unknown, T>,
  unusable: (why: string) => CloudInfraError,
): T {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  if (issue.type === "parse_json") throw unusable("is not JSON");
  const field = v.getDotPath(issue);
  throw unusable(field === null ? "is not a JSON object" : `has no valid "${field}"`);
}

const rejection = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.string(), error_description: v.fallback(v.optional(v.string()), undefined) }),
);

const MAX_REASON_CHARACTERS = 500;

/** Returns the reason for a rejection (RFC 6749, section 5.2). */
function reasonIn(text: string): string {
  const parsed = v.safeParse(rejection, text);
  if (!parsed.success) return "no reason given";
  const { error, error_description: description } = parsed.output;
  return truncated(description ? `${error}: ${description}` : error, MAX_REASON_CHARACTERS);
}

function hintOn(reason: string): string {
  if (/^invalid_client/.test(reason)) return "Check cloudinfra:oidcClientId and cloudinfra:oidcClientSecret.";
  if (/^invalid_(target|scope)/.test(reason))
    return "Check cloudinfra:oidcAudience and cloudinfra:oidcScope.";
  return (
    "Check cloudinfra:oidcSubject, cloudinfra:oidcSubjectAudience and cloudinfra:oidcSubjectTokenType. " +
    "The token service must accept the token's issuer, audience and type."
  );
}

/**
 * Parses a URL to which tokens may be sent.
 *
 * @param options.name the source of the URL, as the subject of error messages
 * @param options.withQuery whether the URL may have a query. @default false
 * @throws CloudInfraError `config_invalid`, without the URL
 */
export function parseOidcUrl(
  text: string,
  options: { readonly name: string; readonly allowHttp: boolean; readonly withQuery?: boolean },
): URL {
  const url = URL.parse(text);
  const invalid = (why: string) =>
    new CloudInfraError("config_invalid", `${options.name} ${why}`, {
      hint: "Use the complete address, which the operators of the token service can provide.",
    });
  if (url === null || !["https:", "http:"].includes(url.protocol))
    throw invalid("is not a URL that begins with https://");
  if (url.username !== "" || url.password !== "") throw invalid("must not contain a user name or password");
  if (url.hash !== "") throw invalid('must not contain "#"');
  if (url.search !== "" && !options.withQuery) throw invalid('must not contain "?"');
  if (url.protocol === "http:" && !options.allowHttp && !isLoopback(url.hostname))
    throw invalid(`must begin with https://: http would send tokens to ${url.hostname} unencrypted`);
  return url;
}
