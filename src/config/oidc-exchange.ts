import * as v from "valibot";
import { type IssuedToken, parseToken, readTokenFile, type TokenSource } from "../api/auth";
import type { ClientOptions } from "../api/client";
import { isLoopback } from "../api/endpoint";
import { isTransient } from "../api/outcome";
import { receive } from "../api/transport";
import { CloudInfraError, type ErrorDetails, isCloudInfraError } from "../diagnostics/error";
import { json, optional } from "../diagnostics/problem";
import { redact, truncated } from "../diagnostics/redact";
import { limitOf, within } from "../polling/clock";
import { pauseMs } from "../polling/schedule";
import type { OidcSetting } from "./settings";

export interface ExchangeParts extends Pick<ClientOptions, "clock" | "dispatcher" | "random"> {
  readonly env: NodeJS.ProcessEnv;
  readonly allowHttp: boolean;
}

/** The maximum duration of a token exchange, including all attempts, in milliseconds. */
const LIMIT_MS = 60_000;
const MAX_ATTEMPTS = 5;
const BACKOFF = { baseMs: 500, capMs: 8_000 };

/** Prepares the exchange of a token for a token of the service (RFC 8693). */
export function tokenExchange(setting: OidcSetting, parts: ExchangeParts): TokenSource {
  const { clock, random, allowHttp } = parts;
  const { kind, value, source } = setting;
  const withQuery = kind === "oidcTokenEndpoint"; // RFC 6749, 3.2. An issuer has none.
  const address = parseOidcUrl(value, { name: source, allowHttp, withQuery });
  const at = `the token exchange at ${address.origin}${address.pathname}`;
  let endpoint: TokenEndpoint | undefined = kind === "oidcIssuer" ? undefined : { url: address };

  async function withRetries(secrets: string[], signal: AbortSignal): Promise<IssuedToken> {
    const connection = { ...parts, signal, secrets };
    for (let attempts = 1; ; attempts += 1) {
      try {
        endpoint ??= await discover(address, connection);
        const subject = await subjectToken(setting, connection);
        return await requestToken(endpoint, setting, subject, connection);
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        const pause = pauseMs(BACKOFF, attempts, random, error.error.retryAfterMs);
        if (attempts >= MAX_ATTEMPTS || pause >= LIMIT_MS) throw error.error;
        await clock.sleep(pause, signal);
      }
    }
  }

  return {
    origin: `${at} (${source})`,
    async fetch(): Promise<IssuedToken> {
      const limit = limitOf(LIMIT_MS, clock);
      const secrets = setting.clientSecret === undefined ? [] : [setting.clientSecret];
      try {
        return await within(limit.signal, withRetries(secrets, limit.signal));
      } catch (error) {
        if (isCloudInfraError(error) || !limit.signal.aborted) throw error;
        throw new CloudInfraError("unreachable", `${at} timed out after ${LIMIT_MS / 1000} s`, {
          hint: "Run the command again when the token service is available.",
        });
      } finally {
        limit.release();
      }
    },
  };
}

interface TokenEndpoint {
  readonly url: URL;
  readonly authMethods?: readonly string[] | undefined;
}

const text = v.pipe(v.string(), v.nonEmpty());

const configuration = v.object({
  issuer: text,
  token_endpoint: v.nullish(text),
  token_endpoint_auth_methods_supported: optional(v.array(v.string())),
});

/** Fetches the issuer's metadata, which contains the token endpoint (OpenID Connect Discovery 1.0). */
async function discover(issuer: URL, connection: TokenConnection): Promise<TokenEndpoint> {
  const url = new URL(issuer);
  url.pathname = `${issuer.pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = await requestJson({ what: "the issuer's configuration", url }, configuration, connection);
  if (URL.parse(document.issuer)?.href !== issuer.href)
    throw new CloudInfraError("bad_reply", `the configuration at ${url.href} belongs to a different issuer`, {
      hint: "Set cloudinfra:oidcIssuer to exactly the `issuer` in that configuration.",
    });
  if (!document.token_endpoint)
    throw new CloudInfraError("bad_reply", `the issuer ${issuer.href} doesn't contain a token endpoint`, {
      hint: "Set cloudinfra:oidcTokenEndpoint instead of cloudinfra:oidcIssuer.",
    });
  const name = "the token endpoint in the issuer's configuration";
  const { allowHttp } = connection;
  const endpoint = parseOidcUrl(document.token_endpoint, { name, allowHttp, withQuery: true });
  if (endpoint.origin === issuer.origin)
    return { url: endpoint, authMethods: document.token_endpoint_auth_methods_supported };
  const message = `the issuer ${issuer.href} has a token endpoint at a different origin, ${endpoint.origin}: no token was sent there`;
  const hint = `If that address is correct, set cloudinfra:oidcTokenEndpoint to ${endpoint.href} and remove cloudinfra:oidcIssuer.`;
  throw new CloudInfraError("config_invalid", message, { hint });
}

const issuedToken = v.object({
  access_token: v.string(),
  token_type: v.pipe(v.string(), v.regex(/^bearer$/i)),
  expires_in: v.nullish(v.pipe(v.union([v.number(), v.string()]), v.transform(Number), v.minValue(0))),
});

async function requestToken(
  { url, authMethods }: TokenEndpoint,
  setting: OidcSetting,
  subject: string,
  connection: TokenConnection,
): Promise<IssuedToken> {
  const { clientId, clientSecret, audience, scope, subjectTokenType } = setting;
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
    ...{ subject_token: subject, subject_token_type: subjectTokenType },
    ...(audience !== undefined && { audience }),
    ...(scope !== undefined && { scope }),
  });
  let headers: Record<string, string> | undefined;
  const isBasic = !authMethods?.includes("client_secret_post") || authMethods.includes("client_secret_basic");
  if (clientId !== undefined && clientSecret !== undefined && isBasic) {
    const [id, secret] = [clientId, clientSecret].map(formEncoded);
    const basic = Buffer.from(`${id}:${secret}`).toString("base64");
    connection.secrets.push(basic); // the token service may repeat it
    headers = { authorization: `Basic ${basic}` };
  } else if (clientId !== undefined) {
    form.set("client_id", clientId);
    if (clientSecret !== undefined) form.set("client_secret", clientSecret);
  }
  const request = { what: "the token exchange", url, headers, form };
  const issued = await requestJson(request, issuedToken, connection);
  return {
    token: parseToken(issued.access_token, "the token from the exchange"),
    // Some token services return 0 if they don't know the lifetime of a token.
    lifetimeMs: issued.expires_in ? issued.expires_in * 1000 : undefined,
  };
}

/** Encodes a string as a form value (RFC 6749, section 2.3.1). */
const formEncoded = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

const SUBJECT = "cloudinfra:oidcSubject";

/** Returns the token to exchange. The token is read for each exchange, because its issuer replaces it before it expires. */
async function subjectToken(
  { subject, subjectAudience }: OidcSetting,
  connection: TokenConnection,
): Promise<string> {
  const token =
    subject.kind === "file"
      ? await subjectFromFile(subject.path)
      : subject.kind === "env"
        ? subjectFromVariable(subject.name, connection.env)
        : await subjectFromGitHub(subjectAudience, connection);
  connection.secrets.push(token);
  return token;
}

async function subjectFromFile(file: string): Promise<string> {
  const { text, name } = await readTokenFile(file, "the file", SUBJECT);
  try {
    return parseToken(text, name);
  } catch (error) {
    // Another process may be replacing the content of the file at this moment.
    throw text.trim() === "" && isCloudInfraError(error) ? new TransientError(error) : error;
  }
}

function subjectFromVariable(name: string, env: NodeJS.ProcessEnv): string {
  const token = env[name];
  if (token !== undefined) return parseToken(token, `the variable ${name} from ${SUBJECT}`);
  // An unconventional name may be the token itself, so the message doesn't contain the name.
  const named = /^[A-Z_]+\d{0,2}$/.test(name) ? ` ${name} from ${SUBJECT}` : ` from ${SUBJECT}`;
  throw new CloudInfraError("config_missing", `the variable${named} is not set`, {
    hint: "Set the variable in the environment of the `pulumi` command.",
  });
}

const identityToken = v.object({ value: v.string() });

/** Requests an identity token for the job from GitHub Actions, which issues a new token for each request. */
async function subjectFromGitHub(audience: string | undefined, connection: TokenConnection): Promise<string> {
  const { env, allowHttp } = connection;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: pass } = env;
  if (!address || !pass) {
    const missing = `ACTIONS_ID_TOKEN_REQUEST_${address ? "TOKEN" : "URL"}`;
    throw new CloudInfraError("config_missing", `GitHub Actions provides no token: ${missing} is not set`, {
      hint: `Give the job \`permissions: id-token: write\`. Outside GitHub Actions, set ${SUBJECT} to file:<path> or env:<variable>.`,
    });
  }
  connection.secrets.push(pass);
  const name = "the variable ACTIONS_ID_TOKEN_REQUEST_URL";
  const url = parseOidcUrl(address, { name, allowHttp, withQuery: true });
  if (audience !== undefined) url.searchParams.set("audience", audience);
  const headers = { authorization: `Bearer ${pass}` };
  const what = "GitHub Actions' token service";
  const { value } = await requestJson({ what, url, headers }, identityToken, connection);
  return parseToken(value, "the token from GitHub Actions");
}

interface TokenRequest {
  /** The subject of error messages, such as "the token exchange". */
  readonly what: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The form to send with POST. Without a form, the request uses GET. */
  readonly form?: URLSearchParams;
}

interface TokenConnection extends ExchangeParts {
  readonly signal: AbortSignal;
  /** The strings to remove from error messages. Callers add every secret that they send. */
  readonly secrets: string[];
}

/** A failure after which another attempt may succeed. */
class TransientError extends Error {
  constructor(readonly error: CloudInfraError) {
    super(error.message);
  }
}

/** The maximum time without data from the token service, in milliseconds. */
const SILENCE_MS = 20_000;
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const CHECK_ADDRESS = "Check the address, and make sure that this machine can reach the host.";
const REPORT =
  "Check the address. If the address is correct, report the problem to the operators of the token service.";

/**
 * Sends a request to a token service, and parses the JSON reply, which must have status 200. Redirects are not followed, because another
 * server could receive tokens. Errors contain no part of a reply except the `error` and `error_description` of a rejection.
 *
 * @throws CloudInfraError, or `TransientError` if another attempt may succeed
 */
async function requestJson<T>(
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
    const { description, final, hint = CHECK_ADDRESS } = received.failure;
    const unreachable = failed("unreachable", `${at} can't be reached: ${description}`, { hint });
    throw final ? unreachable : new TransientError(unreachable);
  }
  const { status, header, retryAfterMs, content } = received;
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
      // These statuses mean that the address is wrong.
      hint: status === 404 || status === 405 ? REPORT : hintOn(reason),
    });
  throw new TransientError(
    failed("unavailable", `${at} failed: ${reason} (${status})`, {
      hint: "Run the command again when the token service is available.",
      retryAfterMs,
    }),
  );
}

/** Parses a reply. Errors don't quote the reply, because it may contain a token. */
function parseReply<T>(
  text: string,
  schema: v.GenericSchema<unknown, T>,
  unusable: (why: string) => CloudInfraError,
): T {
  const parsed = v.safeParse(json(schema), text);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  if (issue.type === "parse_json") throw unusable("is not JSON");
  const field = v.getDotPath(issue);
  throw unusable(field === null ? "is not a JSON object" : `has no valid "${field}"`);
}

const rejection = json(v.object({ error: v.string(), error_description: optional(v.string()) }));

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

/** Parses a URL to which tokens may be sent. Throws `config_invalid` with the source of the URL, but without the URL. */
function parseOidcUrl(
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
