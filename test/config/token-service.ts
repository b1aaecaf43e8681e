import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Adapter, Provider } from "oidc-provider";

/** What an exchange was asked with. */
interface Asked {
  readonly authorization: string | undefined;
  readonly query: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A token service as others run it: an OpenID provider that exchanges tokens (RFC 8693). */
export interface TokenService {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** Every exchange that was asked for, refused ones included. */
  readonly exchanges: readonly Asked[];
  /** Every token that was given out, the latest last. */
  readonly issued: readonly string[];
  /** The subject tokens that it takes. */
  readonly subjects: Set<string>;
  /** How long a token lives, in seconds. */
  lifetimeS: number;
  stop(): Promise<void>;
}

export const CLIENT = { id: "ci", secret: "s3cret of the client/+" } as const;

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const PARAMETERS = [
  ...["subject_token", "subject_token_type", "requested_token_type"],
  ...["audience", "scope"],
];

/** Nothing is looked up again; the provider's own store warns of itself. */
class Forgetful implements Adapter {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}

/** @param onIssue told of each token before it is given out */
export async function startTokenService(onIssue: (token: string) => void = () => {}): Promise<TokenService> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const exchanges: Asked[] = [];
  const issued: string[] = [];
  const service = { subjects: new Set<string>(), lifetimeS: 3600 };

  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  const client = { grant_types: [GRANT], redirect_uris: [], response_types: [] };
  const provider = new Provider(issuer, {
    adapter: Forgetful,
    clients: [
      { ...client, client_id: CLIENT.id, client_secret: CLIENT.secret },
      { ...client, client_id: "open", token_endpoint_auth_method: "none" },
    ],
    scopes: ["instances"],
    jwks: { keys: [{ ...key, kty: "RSA" }] },
    cookies: { keys: ["unused"] },
    features: { devInteractions: { enabled: false } },
    ttl: { ClientCredentials: () => service.lifetimeS },
  });
  provider.registerGrantType(
    GRANT,
    async (context) => {
      const { client, params } = context.oidc;
      const authorization = context.get("authorization") || undefined;
      exchanges.push({ authorization, query: { ...context.query }, parameters: { ...params } });
      if (!service.subjects.has(String(params.subject_token))) {
        context.status = 400;
        // Some services repeat what they were given.
        const description = `the subject token ${params.subject_token} is not known here`;
        context.body = { error: "invalid_grant", error_description: description };
        return;
      }
      const token = new provider.ClientCredentials({ client, scope: String(params.scope ?? "") });
      const access_token = await token.save();
      issued.push(access_token);
      onIssue(access_token);
      const issued_token_type = "urn:ietf:params:oauth:token-type:access_token";
      context.body = { access_token, issued_token_type, token_type: "Bearer", expires_in: token.expiration };
    },
    PARAMETERS,
  );
  server.on("request", provider.callback());

  return Object.assign(service, {
    ...{ issuer, tokenEndpoint: `${issuer}/token`, exchanges, issued },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
