/** A setting of the package. Except for `journalDir`, the docstrings of `ProviderArgs` describe the settings for users. */
export interface Setting {
  /** The type of the value. A `duration` is written as `90s` or `1h30m`, and a `list` as JSON or with commas. */
  readonly type: "string" | "number" | "boolean" | "duration" | "list";
  readonly default?: string;
  /** Whether the value is a secret, which must be set with `--secret` and is always encrypted in the state. */
  readonly isSecret?: true;
}

/**
 * All settings. A setting comes from the stack's configuration (`cloudinfra:<name>`), an environment variable (`variableName`), or an
 * argument of an explicit provider. `journalDir` can't be an argument.
 */
export const settings = {
  endpoint: { type: "string" },
  token: { type: "string", isSecret: true },
  tokenFile: { type: "string" },
  tokenCommand: { type: "string" },
  oidcTokenEndpoint: { type: "string" },
  oidcIssuer: { type: "string" },
  oidcSubject: { type: "string" },
  oidcSubjectAudience: { type: "string" },
  oidcSubjectTokenType: { type: "string", default: "urn:ietf:params:oauth:token-type:jwt" },
  oidcAudience: { type: "string" },
  oidcScope: { type: "string" },
  oidcClientId: { type: "string" },
  oidcClientSecret: { type: "string", isSecret: true },
  operationTimeout: { type: "duration", default: "30m" },
  allowHttp: { type: "boolean", default: "false" },
  caFile: { type: "string" },
  concurrency: { type: "number", default: "16" },
  maxRequestsPerSecond: { type: "number" },
  revisionField: { type: "string" },
  ipAddressField: { type: "string" },
  formerEndpoints: { type: "list" },
  journalDir: { type: "string" },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;

/** The names of the settings that must be encrypted in files and in the state. */
export const secretSettings: readonly string[] = Object.entries<Setting>(settings).flatMap(
  ([name, { isSecret }]) => (isSecret ? name : []),
);

/** The configuration key that passes the name of an explicit provider to the provider process. */
export const PROVIDER_NAME = "cloudinfra:providerName";

/** Returns the environment variable of a setting, such as `CLOUDINFRA_OPERATION_TIMEOUT` for `operationTimeout`. */
export function variableName(name: SettingName): string {
  return `CLOUDINFRA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Reports whether a setting determines the connection to the service, the token, or the journal. */
export function isOfTarget(name: string): boolean {
  return /^(endpoint|formerEndpoints|journalDir|caFile|token|oidc)/.test(name);
}

/** Returns a setting of the stack or of an explicit provider by its full name, such as `cloudinfra:endpoint`. */
export type Configuration = (key: string) => string | undefined;

/**
 * Returns the stack's configuration or the arguments of an explicit provider. The testing kit sets `CLOUDINFRA_EMULATED`. The connection,
 * the token and the journal then come only from the environment, so that all requests go to the emulator.
 */
export function applicableSettings(configured: Configuration, environment: NodeJS.ProcessEnv): Configuration {
  if (!environment.CLOUDINFRA_EMULATED) return configured;
  return (key) => (isOfTarget(key.replace("cloudinfra:", "")) ? undefined : configured(key));
}
