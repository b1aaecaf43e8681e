import * as v from "valibot";
import { parseToken, readTokenFile } from "../api/auth";
import type { Connections } from "../api/connections";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { type Clock, isTimeoutError, limitOf, within } from "../polling/clock";
import { pauseMs } from "../polling/schedule";
import { parseOidcUrl, requestJson, type TokenConnection, TransientError } from "./oidc-http";
import type { OidcSetting } from "./settings";

export interface ExchangeParts {
  readonly clock: Clock;
  readonly dispatcher: Connections;
  readonly env: NodeJS.ProcessEnv;
  readonly allowHttp: boolean;
  /** Returns a random number from 0 to 1, for jitter. */
  readonly random: () => number;
}

export interface IssuedToken {
  readonly token: string;
  /** The time from the request until the token expires, in milliseconds, or `undefined` if the lifetime isn't known. */
  readonly lifetimeMs?: number | undefined;
}

/** The maximum duration of a token exchange, including all attempts, in milliseconds. */
const LIMIT_MS = 60_000;
const MAX_ATTEMPTS = 5;
const BACKOFF = { baseMs: 500, capMs: 8_000 };

/**
 * Prepares the exchange of a token for a token of the service (RFC 8693).
 *
 * @returns the origin of the new tokens for messages, and a function that runs an exchange
 * @throws CloudInfraError `config_invalid` if the address is invalid
 */
export function tokenExchange(setting: OidcSetting, parts: ExchangeParts) {
  const { clock, dispatcher, random, allowHttp } = parts;
  const { kind, value, source } = setting;
  const withQuery = kind === "oidcTokenEndpoint"; // RFC 6749, 3.2. An issuer has none.
  const address = parseOidcUrl(value, { name: source, allowHttp, withQuery });
  const at = `the token exchange at ${address.origin}${address.pathname}`;
  let endpoint: TokenEndpoint | undefined = kind === "oidcIssuer" ? undefined : { url: address };

  async function withRetries(secrets: string[], signal: AbortSignal): Promise<IssuedToken> {
    const connection = { dispatcher, signal, secrets };
    for (let attempts = 1; ; attempts += 1) {
      try {
        endpoint ??= await discover(address, allowHttp, connection);
        const subject = await subjectToken(setting, parts, connection);
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
    async exchange(): Promise<IssuedToken> {
      const limit = limitOf(LIMIT_MS, clock);
      const secrets = setting.clientSecret === undefined ? [] : [setting.clientSecret];
      try {
        return await within(limit.signal, withRetries(secrets, limit.signal));
      } catch (error) {
        if (isCloudInfraError(error)) throw error;
        if (!isTimeoutError(error) && !isTimeoutError(limit.signal.reason)) throw error;
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
  /** The authentication methods that the token endpoint supports, if they are known. */
  readonly authMethods?: readonly string[] | undefined;
}

const text = v.pipe(v.string(), v.nonEmpty());

const configuration = v.object({
  issuer: text,
  token_endpoint: v.nullish(text),
  token_endpoint_auth_methods_supported: v.fallback(v.optional(v.array(v.string())), undefined),
});

/** Fetches the issuer's metadata, which contains the token endpoint (OpenID Connect Discovery 1.0). */
async function discover(
  issuer: URL,
  allowHttp: boolean,
  connection: TokenConnection,
): Promise<TokenEndpoint> {
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
  const endpoint = parseOidcUrl(document.token_endpoint, { name, allowHttp, withQuery: true });
  if (endpoint.origin === issuer.origin)
    return { url: endpoint, authMethods: document.token_endpoint_auth_methods_supported };
  throw new CloudInfraError(
    "config_invalid",
    `the issuer ${issuer.href} has a token endpoint at a different origin, ${endpoint.origin}: no token was sent there`,
    {
      hint: `If that address is correct, set cloudinfra:oidcTokenEndpoint to ${endpoint.href} and remove cloudinfra:oidcIssuer.`,
    },
  );
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
  const issued = await requestJson(
    { what: "the token exchange", url, headers, form },
    issuedToken,
    connection,
  );
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
  setting: OidcSetting,
  parts: ExchangeParts,
  connection: TokenConnection,
): Promise<string> {
  const { subject, subjectAudience } = setting;
  const token =
    subject.kind === "file"
      ? await subjectFromFile(subject.path)
      : subject.kind === "env"
        ? subjectFromVariable(subject.name, parts.env)
        : await subjectFromGitHub(subjectAudience, parts, connection);
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
async function subjectFromGitHub(
  audience: string | undefined,
  { env, allowHttp }: ExchangeParts,
  connection: TokenConnection,
): Promise<string> {
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
