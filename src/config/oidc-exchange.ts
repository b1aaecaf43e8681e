import type * as OAuth from "oauth4webapi";
import * as v from "valibot";
import type { Connections } from "../api/connections";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { pauseMs } from "../polling/backoff";
import { type Clock, isTimeIsUp, limitOf, within } from "../polling/clock";
import { createFetch, type Fetch, parseOidcUrl, TransientError } from "./oidc-http";
import { type SubjectParts, subjectToken } from "./oidc-subject";
import type { OidcSetting } from "./read-settings";
import { parseToken } from "./setting-files";

/** What an exchange is made with. */
export interface ExchangeParts {
  readonly clock: Clock;
  readonly dispatcher: Connections;
  readonly env: NodeJS.ProcessEnv;
  readonly allowHttp: boolean;
  /** From 0 to 1, for jitter. */
  readonly random: () => number;
}

export interface IssuedToken {
  readonly token: string;
  /** Counted from before the request. Milliseconds. Undefined if the token service didn't say. */
  readonly lifetimeMs?: number | undefined;
}

/** Milliseconds that an exchange may take, tries and pauses included; whoever waits for it has a deadline of their own. */
const LIMIT_MS = 60_000;
const MAX_ATTEMPTS = 5;
const BACKOFF = { baseMs: 500, capMs: 8_000 };

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/**
 * The exchange of a token from elsewhere for one of the service (RFC 8693).
 *
 * @throws CloudInfraError `config_invalid` where the address is none
 */
export function tokenExchange(
  setting: OidcSetting,
  parts: ExchangeParts,
): { readonly origin: string; exchange(): Promise<IssuedToken> } {
  const { kind, value, source } = setting;
  const withQuery = kind === "oidcTokenEndpoint"; // RFC 6749, 3.2; an issuer has none
  const address = parseOidcUrl(value, { name: source, allowHttp: parts.allowHttp, withQuery });
  const { clock, dispatcher, random } = parts;
  let server: OAuth.AuthorizationServer | undefined =
    kind === "oidcIssuer" ? undefined : { issuer: address.origin, token_endpoint: address.href };

  async function once(secrets: string[], signal: AbortSignal): Promise<IssuedToken> {
    // Loaded by the first exchange: who has no need of it does not wait for it.
    const oauth = await import("oauth4webapi");
    const fetch = createFetch(dispatcher, (text) => redact(text, secrets), signal);
    server ??= await discover(oauth, address, fetch, parts.allowHttp);
    const { env, allowHttp } = parts;
    const secret = (text: string) => void secrets.push(text);
    const subject = await subjectToken(setting, { env, allowHttp, fetch, secret });
    return await requestToken(oauth, server, setting, { subject, fetch, secret });
  }

  async function withRetries(secrets: string[], signal: AbortSignal): Promise<IssuedToken> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await once(secrets, signal);
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        const pause = pauseMs(BACKOFF, tries, random, error.error.retryAfterMs);
        if (tries >= MAX_ATTEMPTS || pause >= LIMIT_MS) throw error.error;
        await clock.sleep(pause, signal);
      }
    }
  }

  return {
    origin: `the token exchange at ${address.origin}${address.pathname} (${source})`,
    async exchange() {
      const limit = limitOf(LIMIT_MS, clock);
      const secrets = setting.clientSecret === undefined ? [] : [setting.clientSecret];
      try {
        return await within(limit.signal, withRetries(secrets, limit.signal));
      } catch (error) {
        if (isCloudInfraError(error)) throw error;
        if (!isTimeIsUp(error) && !isTimeIsUp(limit.signal.reason)) throw error;
        const message = `the token exchange at ${address.origin}${address.pathname} timed out after ${LIMIT_MS / 1000} s`;
        const hint = "Run the command again once the token service is available.";
        throw new CloudInfraError("unreachable", message, { hint });
      } finally {
        limit.release();
      }
    },
  };
}

/** Asks the issuer where its tokens are exchanged (OpenID Connect Discovery 1.0). */
async function discover(
  oauth: typeof OAuth,
  issuer: URL,
  fetch: Fetch,
  allowHttp: boolean,
): Promise<OAuth.AuthorizationServer> {
  const reply = await oauth.discoveryRequest(issuer, {
    [oauth.allowInsecureRequests]: true, // `addressOf` has checked the address
    [oauth.customFetch]: (url, { headers }) =>
      fetch("the issuer's configuration", new URL(url), { method: "GET", headers }),
  });
  const server = await usableToken("the issuer's configuration", () =>
    oauth.processDiscoveryResponse(issuer, reply),
  );
  if (server.token_endpoint === undefined)
    throw new CloudInfraError("bad_reply", `the issuer ${issuer.href} names no token endpoint`, {
      hint: "Set cloudinfra:oidcTokenEndpoint instead of cloudinfra:oidcIssuer.",
    });
  const name = "the token endpoint that the issuer names";
  const endpoint = parseOidcUrl(server.token_endpoint, { name, allowHttp, withQuery: true });
  if (endpoint.origin === issuer.origin) return server;
  throw new CloudInfraError(
    "config_invalid",
    `the issuer ${issuer.href} names a token endpoint elsewhere, at ${endpoint.origin}: no token was sent there`,
    {
      hint: `If that address is right, set cloudinfra:oidcTokenEndpoint to ${endpoint.href} and remove cloudinfra:oidcIssuer.`,
    },
  );
}

async function requestToken(
  oauth: typeof OAuth,
  server: OAuth.AuthorizationServer,
  setting: OidcSetting,
  { subject, fetch, secret }: Pick<SubjectParts, "fetch" | "secret"> & { readonly subject: string },
): Promise<IssuedToken> {
  const { audience, scope, subjectTokenType } = setting;
  const parameters = {
    subject_token: subject,
    subject_token_type: subjectTokenType,
    requested_token_type: ACCESS_TOKEN,
    ...(audience !== undefined && { audience }),
    ...(scope !== undefined && { scope }),
  };
  const client = { client_id: setting.clientId ?? "none" };
  const reply = await oauth.genericTokenEndpointRequest(
    server,
    client,
    authenticationOf(oauth, server, setting),
    GRANT,
    parameters,
    {
      [oauth.allowInsecureRequests]: true, // `addressOf` has checked the address
      [oauth.customFetch]: (url, { headers, body }) => {
        // The service may repeat the client's credentials as they are encoded here.
        if (headers.authorization !== undefined) secret(headers.authorization.replace(/^Basic /, ""));
        return fetch("the token exchange", new URL(url), { method: "POST", headers, body: String(body) });
      },
    },
  );
  const issued = await usableToken("the token exchange", async () =>
    oauth.processGenericTokenEndpointResponse(server, client, await withoutUnused(reply)),
  );
  return {
    token: parseToken(issued.access_token, "the token from the exchange"),
    // A lifetime of 0 means that none is known: a token that has expired at once would be of no use.
    lifetimeMs: issued.expires_in ? issued.expires_in * 1000 : undefined,
  };
}

const jsonObject = v.pipe(v.string(), v.parseJson(), v.looseObject({}));

/**
 * Removes the id token, which isn't needed: the library rejects one that was not issued for a sign-in with this client. And it rejects absent
 * members that are written as null.
 */
async function withoutUnused(reply: Response): Promise<Response> {
  const parsed = v.safeParse(jsonObject, await reply.clone().text());
  if (!parsed.success) return reply;
  const used = Object.entries(parsed.output).filter(([name, value]) => name !== "id_token" && value !== null);
  const { status, headers } = reply;
  return new Response(JSON.stringify(Object.fromEntries(used)), { status, headers });
}

function authenticationOf(
  oauth: typeof OAuth,
  { token_endpoint_auth_methods_supported: methods }: OAuth.AuthorizationServer,
  { clientId, clientSecret }: OidcSetting,
): OAuth.ClientAuth {
  if (clientId === undefined) return () => {};
  if (clientSecret === undefined) return oauth.None();
  const isInBody = methods?.includes("client_secret_post") && !methods.includes("client_secret_basic");
  return isInBody ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
}

/** Parses a reply. The library's error is not the cause, because it holds the reply; its message contains only names. */
async function usableToken<T>(what: string, parse: () => Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CloudInfraError("bad_reply", `the reply of ${what} can't be used: ${why}`, {
      hint: "Check its address. If the address is right, report this to the operators of the token service.",
    });
  }
}
