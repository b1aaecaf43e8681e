/** A setting of the package. Texts are Markdown for users. */
export interface Setting {
  /** A `duration` is written as `90s` or `1h30m`, and a `list` as JSON or with commas. */
  readonly type: "string" | "number" | "boolean" | "duration" | "list";
  readonly description: string;
  /** The value that applies if the setting isn't set. Settings with neither this nor `otherwise` have no default. */
  readonly default?: string;
  /** What applies instead if there is no single default value. */
  readonly otherwise?: string;
  /** A value for commands that set it. */
  readonly example?: string;
  /** Whether the value must be set with `--secret`, and is always encrypted in the state. */
  readonly isSecret?: true;
}

/**
 * All settings. Each is set in the stack's configuration (`cloudinfra:<name>`), with its environment variable ({@link variableName}), or
 * as an argument of an explicit provider, except for `journalDir`.
 */
export const settings = {
  endpoint: {
    type: "string",
    description:
      "Base URL of the service (required), with or without `/v1`. `http://` is allowed only for this machine, or with `allowHttp`.",
    example: "https://api.example.com",
  },
  token: {
    type: "string",
    description: "Token of the service.",
    isSecret: true,
  },
  tokenFile: {
    type: "string",
    description:
      "Path of a file that contains the token, relative to the program's folder. It is read again if the service rejects the token.",
    example: "/run/secrets/cloudinfra-token",
  },
  tokenCommand: {
    type: "string",
    description:
      "Shell command that prints the token, or JSON with `token` or `access_token`. It runs again if the service rejects the token.",
    example: "vault read -field=token cloudinfra/creds/deploy",
  },
  oidcTokenEndpoint: {
    type: "string",
    description:
      "URL of the token endpoint that exchanges the token in `oidcSubject` for a token of the service (RFC 8693).",
    example: "https://sts.example.com/token",
  },
  oidcIssuer: {
    type: "string",
    description: "URL of the OpenID Connect issuer whose metadata contains the token endpoint.",
    example: "https://sts.example.com",
  },
  oidcSubject: {
    type: "string",
    description:
      "Token to exchange: `github` for the identity token of a GitHub Actions job, `file:<path>`, or `env:<variable>`.",
    example: "github",
  },
  oidcSubjectAudience: {
    type: "string",
    description: "Audience of the token that the provider requests from GitHub Actions.",
    otherwise: "the value of `oidcAudience`",
  },
  oidcSubjectTokenType: {
    type: "string",
    description: "Type of the token to exchange, as a URN.",
    default: "urn:ietf:params:oauth:token-type:jwt",
  },
  oidcAudience: {
    type: "string",
    description: "Audience of the new token.",
    example: "https://api.example.com",
  },
  oidcScope: {
    type: "string",
    description: "Scope of the new token.",
  },
  oidcClientId: {
    type: "string",
    description: "Client id, if the token endpoint requires one.",
  },
  oidcClientSecret: {
    type: "string",
    description: "Client secret, if the token endpoint requires one.",
    isSecret: true,
  },
  operationTimeout: {
    type: "duration",
    description:
      "Maximum duration of a create, update or delete, unless the `customTimeouts` option of the resource sets another one.",
    default: "30m",
    example: "1h",
  },
  allowHttp: {
    type: "boolean",
    description:
      "Whether to allow `http://` endpoints on other machines. The token is then sent unencrypted.",
    default: "false",
    example: "true",
  },
  caFile: {
    type: "string",
    description:
      "Path of a PEM file with certificate authorities to trust in addition to those of Node.js, relative to the program's folder.",
    example: "certificates/our-authority.pem",
  },
  concurrency: {
    type: "number",
    description: "Maximum number of concurrent requests.",
    default: "16",
    example: "4",
  },
  maxRequestsPerSecond: {
    type: "number",
    description: "Maximum number of requests per second. It can be a fraction.",
    otherwise: "no limit",
    example: "10",
  },
  revisionField: {
    type: "string",
    description:
      "Name of the field that contains an instance's revision, if the service uses an unusual name.",
    otherwise: "the `ETag` header, or a field with a usual name",
  },
  ipAddressField: {
    type: "string",
    description:
      "Name of the field that contains an instance's public IP address, if the service uses an unusual name.",
    otherwise: "`ip_address`, `public_address` or `public_ip`",
  },
  formerEndpoints: {
    type: "list",
    description: "Base URLs that the service had before it moved to `endpoint`.",
    example: "https://old.example.com",
  },
  journalDir: {
    type: "string",
    description:
      "Folder of the journal of unfinished creations, relative to the program's folder. It isn't an argument of `Provider`.",
    otherwise: "`~/.local/state/pulumi-cloudinfra/journal`",
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;

/** The names of the settings that must be encrypted wherever they are stored. */
export const secretSettings: readonly string[] = Object.entries<Setting>(settings).flatMap(
  ([name, { isSecret }]) => (isSecret ? name : []),
);

/** The configuration key with which an explicit provider passes its name to its process. */
export const PROVIDER_NAME = "cloudinfra:providerName";

/** Returns the environment variable of a setting: `CLOUDINFRA_OPERATION_TIMEOUT` for `operationTimeout`. */
export function variableName(name: SettingName): string {
  return `CLOUDINFRA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Whether a setting decides where requests and the journal go, or with which token. */
export function isOfTarget(name: string): boolean {
  return /^(endpoint|formerEndpoints|journalDir|caFile|token|oidc)/.test(name);
}

/**
 * Returns a stack's configuration, or the arguments of an explicit provider, as they apply. Under the testing kit, which sets
 * CLOUDINFRA_EMULATED, only the environment names the service, the token and the journal, so that no request leaves the emulator.
 */
export function applicableSettings(
  configured: (key: string) => string | undefined,
  environment: NodeJS.ProcessEnv,
): (key: string) => string | undefined {
  if (!environment.CLOUDINFRA_EMULATED) return configured;
  return (key) => (isOfTarget(key.replace("cloudinfra:", "")) ? undefined : configured(key));
}
