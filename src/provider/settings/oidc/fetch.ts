import type { Dispatcher } from "undici";
import * as v from "valibot";
import type { Connections } from "../../../api/connections";
import { type Content, readContent } from "../../../api/parse";
import { isTransient } from "../../../api/retry";
import { retryAfterMs } from "../../../api/retry-after";
import { transportFailure } from "../../../api/transport";
import { CloudInfraError, type ErrorDetails } from "../../../diagnostics/error";

/** A request to a token service; `what` is its name for people. Resolves with a success only; no redirect is followed. */
export type Fetch = (what: string, url: URL, request: FetchRequest) => Promise<Response>;

interface FetchRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A failure that may be gone at the next try. */
export class Passing extends Error {
  constructor(readonly error: CloudInfraError) {
    super(error.message);
  }
}

/** Milliseconds until the head of a reply must be there, and between two pieces of its body. */
const SILENCE_MS = 20_000;

/**
 * @param clean takes secrets out of a text that will be shown; what is thrown carries no other texts
 */
export function createFetch(
  dispatcher: Connections,
  clean: (text: string) => string,
  signal: AbortSignal,
): Fetch {
  const failed = (
    code: CloudInfraError["code"],
    message: string,
    details: ErrorDetails = {},
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
      const failure = transportFailure(error, neverSent, clean);
      const hint = failure.hint ?? "check its address, and that this machine can reach it";
      const unreachable = failed("unreachable", `${at} can't be reached: ${failure.words}`, { hint });
      throw failure.final ? unreachable : new Passing(unreachable);
    }
    const { statusCode: status } = reply;
    if (content.kind === "too large") throw failed("bad_reply", `${at} answered with too much`);
    if (content.kind === "undecodable")
      throw failed("bad_reply", `${at} answered in a content coding that can't be read: ${content.coding}`);
    const { text } = content;
    if (status >= 200 && status < 300)
      return new Response(status === 204 ? null : text, { status, headers: headersOf(reply) });
    if (status < 400) {
      const { origin = "nowhere" } = URL.parse(String(reply.headers.location ?? ""), url.href) ?? {};
      throw failed(
        "not_this_service",
        `${at} answered with a redirect (${status}) to ${origin}, which is not followed`,
        {
          hint: "a token goes only to the address that is set: check it",
        },
      );
    }
    const told = toldIn(text);
    if (!isTransient(status))
      throw failed("unauthorized", `${at} refused: ${told} (${status})`, { hint: hintOn(told) });
    const wait = retryAfterMs(single(reply.headers["retry-after"]), single(reply.headers.date));
    const hint = "run it again once it is back";
    throw new Passing(
      failed("unavailable", `${at} answered ${told} (${status})`, { hint, retryAfterMs: wait }),
    );
  };
}

const problem = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ error: v.string(), error_description: v.fallback(v.optional(v.string()), undefined) }),
);

/** What the service says about why (RFC 6749, 5.2). */
function toldIn(text: string): string {
  const parsed = v.safeParse(problem, text);
  if (!parsed.success) return "without saying why";
  const { error, error_description: description } = parsed.output;
  return description ? `${error}: ${description}` : error;
}

function hintOn(told: string): string {
  if (/^invalid_client/.test(told)) return "check cloudinfra:oidcClientId and cloudinfra:oidcClientSecret";
  if (/^invalid_(target|scope)/.test(told)) return "check cloudinfra:oidcAudience and cloudinfra:oidcScope";
  return (
    "check cloudinfra:oidcSubject, and what the token service wants of the token: its issuer, its audience " +
    "(cloudinfra:oidcSubjectAudience), its type (cloudinfra:oidcSubjectTokenType)"
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
