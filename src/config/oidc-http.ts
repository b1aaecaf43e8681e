import type { Dispatcher } from "undici";
import * as v from "valibot";
import { type Content, readContent } from "../api/body";
import type { Connections } from "../api/connections";
import { isLoopback } from "../api/endpoint";
import { isTransient, retryAfterMs } from "../api/retry";
import { transportFailure } from "../api/transport";
import { CloudInfraError, type ErrorDetails } from "../diagnostics/error";

/**
 * Sends a request to a token service and resolves with a reply of status 200. Does not follow redirects. No error has the reply's
 * content, except the `error` and `error_description` of a rejection.
 *
 * @param what the service's name in messages
 * @throws CloudInfraError, or {@link TransientError} if another attempt may succeed
 */
export type Fetch = (what: string, url: URL, request: FetchRequest) => Promise<Response>;

interface FetchRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A failure after which another attempt may succeed. */
export class TransientError extends Error {
  constructor(readonly error: CloudInfraError) {
    super(error.message);
  }
}

/** Milliseconds until the head of a reply must arrive, and between two pieces of its body. */
const SILENCE_MS = 20_000;
const REPORT =
  "Check its address. If the address is right, report this to the operators of the token service.";

/** @param clean removes secrets from text that will be shown; errors contain no other text of a reply */
export function createFetch(
  dispatcher: Connections,
  clean: (text: string) => string,
  signal: AbortSignal,
): Fetch {
  const failed = (
    code: CloudInfraError["code"],
    message: string,
    details: ErrorDetails & { readonly hint: string },
  ): CloudInfraError => new CloudInfraError(code, clean(message), details);

  return async function fetch(what, url, { method, headers, body }) {
    const at = `${what} at ${url.origin}${url.pathname}`;
    let reply: Dispatcher.ResponseData;
    let content: Content;
    let neverSent = true;
    try {
      const target = { origin: url.origin, path: url.pathname + url.search, method, body: body ?? null };
      reply = await dispatcher.send(
        {
          ...target,
          headers: { "accept-encoding": "identity", ...headers },
          ...{ signal, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS },
        },
        () => {
          neverSent = false;
        },
      );
      content = await readContent(reply.body, single(reply.headers["content-encoding"]));
    } catch (error) {
      if (signal.aborted) throw error;
      // Not the error itself: it may hold a part of the reply, such as a token.
      const { description, final, hint } = transportFailure(error, { url, neverSent, clean });
      const unreachable = failed("unreachable", `${at} can't be reached: ${description}`, {
        hint: hint ?? "Check its address, and that this machine can reach it.",
      });
      throw final ? unreachable : new TransientError(unreachable);
    }
    const { statusCode: status } = reply;
    if (content.kind === "too large")
      throw failed("bad_reply", `the reply of ${at} is too large`, { hint: REPORT });
    if (content.kind === "undecodable")
      throw failed(
        "bad_reply",
        `the reply of ${at} has the content coding ${content.coding}, which can't be decoded`,
        {
          hint: REPORT,
        },
      );
    const { text } = content;
    if (status === 200) return new Response(text, { headers: headersOf(reply) });
    if (status < 300)
      throw failed("bad_reply", `${at} returned status ${status} instead of 200`, { hint: REPORT });
    if (status < 400) {
      const { origin = "nowhere" } = URL.parse(String(reply.headers.location ?? ""), url.href) ?? {};
      throw failed("not_this_service", `${at} returned a redirect (${status}) to ${origin}`, {
        hint: "Check its address: tokens are sent only to the address that is set, so redirects are not followed.",
      });
    }
    const reason = reasonIn(text);
    if (!isTransient(status))
      throw failed("unauthorized", `${at} rejected the request: ${reason} (${status})`, {
        hint: hintOn(reason),
      });
    throw new TransientError(
      failed("unavailable", `${at} failed: ${reason} (${status})`, {
        hint: "Run the command again once the token service is available.",
        retryAfterMs: retryAfterMs(single(reply.headers["retry-after"]), single(reply.headers.date)),
      }),
    );
  };
}

const problem = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.string(), error_description: v.fallback(v.optional(v.string()), undefined) }),
);

const MAX_REASON_CHARACTERS = 500;

/** The reason that the service gives for a rejection (RFC 6749, 5.2). */
function reasonIn(text: string): string {
  const parsed = v.safeParse(problem, text);
  if (!parsed.success) return "no reason given";
  const { error, error_description: description } = parsed.output;
  const reason = description ? `${error}: ${description}` : error;
  return reason.length > MAX_REASON_CHARACTERS ? `${reason.slice(0, MAX_REASON_CHARACTERS)}…` : reason;
}

function hintOn(reason: string): string {
  if (/^invalid_client/.test(reason)) return "Check cloudinfra:oidcClientId and cloudinfra:oidcClientSecret.";
  if (/^invalid_(target|scope)/.test(reason))
    return "Check cloudinfra:oidcAudience and cloudinfra:oidcScope.";
  return (
    "Check cloudinfra:oidcSubject, and that the token service accepts the token: its issuer, its audience " +
    "(cloudinfra:oidcSubjectAudience) and its type (cloudinfra:oidcSubjectTokenType)."
  );
}

function headersOf(reply: Dispatcher.ResponseData): Headers {
  const headers = new Headers();
  const type = single(reply.headers["content-type"]);
  if (type !== undefined) headers.set("content-type", type);
  return headers;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

interface OidcUrlOptions {
  /** For people: what holds the address. */
  readonly name: string;
  /** Plain http also to other machines than this one. */
  readonly allowHttp: boolean;
  readonly withQuery?: boolean;
}

/**
 * An address to which tokens may go.
 *
 * @throws CloudInfraError `config_invalid`, without the address
 */
export function parseOidcUrl(text: string, { name, allowHttp, withQuery = false }: OidcUrlOptions): URL {
  const url = URL.parse(text);
  const reject = (why: string): never => {
    throw new CloudInfraError("config_invalid", `${name} ${why}`, {
      hint: "Give the whole address. The operators of the token service can tell you what it is.",
    });
  };
  if (url === null || !["https:", "http:"].includes(url.protocol))
    return reject("is not a URL that begins with https://");
  if (url.username !== "" || url.password !== "") return reject("must not contain a user name or password");
  if (url.hash !== "") return reject('must not contain "#"');
  if (url.search !== "" && !withQuery) return reject('must not contain "?"');
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname))
    return reject(`must begin with https://: over http a token could be read on the way to ${url.hostname}`);
  return url;
}
