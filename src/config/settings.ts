import { CloudInfraError } from "../diagnostics/error";
import { parseDuration } from "../polling/clock";

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

export const secretSettings: readonly string[] = Object.entries<Setting>(settings).flatMap(
  ([name, { isSecret }]) => (isSecret ? name : []),
);

/** The configuration key that passes the name of an explicit provider to the provider process. */
export const PROVIDER_NAME = "cloudinfra:providerName";

/** The configuration key that passes the option `envVarMappings` of an explicit provider to functions and commands. */
export const ENV_VAR_MAPPINGS = "cloudinfra:envVarMappings";

/**
 * Returns the environment of a provider for a function or a command. The engine changes the environment of provider processes in the same
 * way. In tests with the emulator, the variables must not select a real service.
 */
export function environmentOf(configured: Configuration, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (environment.CLOUDINFRA_EMULATED) return environment;
  const mappings = configured(ENV_VAR_MAPPINGS)?.split(",") ?? [];
  const mapped = mappings.flatMap((mapping) => {
    const [from = "", to = ""] = mapping.split("=");
    const value = environment[from];
    return value === undefined ? [] : [[to, value]];
  });
  return mapped.length === 0 ? environment : { ...environment, ...Object.fromEntries(mapped) };
}

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

export type Settings = Readonly<ReturnType<typeof readSettings>>;

export type TokenSetting = Settings["token"];

export type OidcSetting = Extract<TokenSetting, { subject: unknown }>;

type Subject =
  | { readonly kind: "github" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "env"; readonly name: string };

interface Found {
  readonly value: string;
  /** The setting and its source, for messages. */
  readonly source: string;
  readonly hint: string;
}

type Lookup = (name: SettingName) => Found | undefined;

/**
 * Reads settings from the stack or an explicit provider, and from environment variables. The stack and the provider take precedence over
 * environment variables. An explicit provider with its own endpoint doesn't use a token from the environment.
 *
 * @throws CloudInfraError `config_missing` or `config_invalid`, which contains the name of the setting but never its value
 */
export function readSettings(given: Configuration, environment: NodeJS.ProcessEnv) {
  const configured = applicableSettings(given, environment);
  const provider = configured(PROVIDER_NAME);
  const inConfiguration: Lookup = (name) => {
    const source =
      provider === undefined
        ? `the stack setting cloudinfra:${name}`
        : `the \`${name}\` argument of the provider "${provider}"`;
    // The hint doesn't mention the environment variable, because the stack setting takes precedence.
    const hint = provider === undefined ? `Run \`${command(name)}\`.` : argumentHint(name, provider);
    const text = configured(`cloudinfra:${name}`);
    // An unset secret of a CI job may be empty. The environment may contain the settings of another account.
    const isOfAccount = name === "endpoint" || OF_ENDPOINT.test(name);
    if (provider !== undefined && isOfAccount && text?.trim() === "") {
      const isInEnvironment =
        name === "endpoint" || (isTokenSource(name) && !configured("cloudinfra:endpoint"));
      const orOmit = ` To use the environment variable ${variableName(name)}, omit the argument.`;
      throw new CloudInfraError("config_invalid", `${source} is empty or undefined`, {
        hint: isInEnvironment ? hint + orOmit : hint,
      });
    }
    return found(text, source, hint);
  };
  const inEnvironment: Lookup = (name) => {
    const variable = variableName(name);
    // The hint doesn't mention the stack's configuration, because an explicit provider doesn't use it.
    const hint =
      provider === undefined ? hintToSet(name, provider) : `Correct the environment variable ${variable}.`;
    return found(environment[variable], `the environment variable ${variable}`, hint);
  };
  const hasOwnEndpoint = provider !== undefined && inConfiguration("endpoint") !== undefined;
  const lookUp: Lookup = (name) =>
    inConfiguration(name) ?? (hasOwnEndpoint && OF_ENDPOINT.test(name) ? undefined : inEnvironment(name));
  // A client secret from the environment must not be sent to the token endpoint of an explicit provider.
  const lookUpForExchange = provider === undefined ? lookUp : inConfiguration;
  const token =
    tokenSetting(inConfiguration, lookUpForExchange, provider) ??
    (hasOwnEndpoint ? undefined : tokenSetting(inEnvironment, lookUp, provider));
  return {
    /** The name of the explicit provider, or `undefined` for the default provider. */
    provider,
    endpoint: read("endpoint", lookUp) ?? missing("endpoint", " (the address of the service)", provider),
    token: token ?? missing("token", "", provider),
    operationTimeoutMs: read("operationTimeout", lookUp),
    allowHttp: read("allowHttp", lookUp),
    concurrency: read("concurrency", lookUp),
    maxRequestsPerSecond: read("maxRequestsPerSecond", lookUp),
    revisionField: read("revisionField", lookUp),
    ipAddressField: read("ipAddressField", lookUp),
    formerEndpoints: read("formerEndpoints", lookUp) ?? [],
    journalDir: read("journalDir", lookUp),
    caFile: read("caFile", lookUp),
  };
}

/** The settings that belong to a single endpoint. A token must never be sent to a different endpoint. */
const OF_ENDPOINT = /^(token|oidc|formerEndpoints$)/;

function found(text: string | undefined, source: string, hint: string): Found | undefined {
  const value = text?.trim();
  return value ? { value, source, hint } : undefined;
}

/** Returns the command that sets a setting. Without a flag, the CLI may encrypt any value whose name contains "token". */
function command(name: SettingName, example = "…"): string {
  const { isSecret }: Setting = settings[name];
  const flag = isSecret ? " --secret" : /token/i.test(name) ? " --plaintext" : "";
  return `pulumi config set${flag} cloudinfra:${name}${isSecret ? "" : ` ${example}`}`;
}

function hintToSet(name: SettingName, provider: string | undefined, example?: string): string {
  return provider === undefined
    ? `Run \`${command(name, example)}\`, or set the environment variable ${variableName(name)}.`
    : argumentHint(name, provider);
}

function argumentHint(name: SettingName, provider: string): string {
  return `Set the \`${name}\` argument of the provider "${provider}" in the program, and run \`pulumi up\`.`;
}

function missing(name: "endpoint" | "token", what: string, provider: string | undefined): never {
  const prefix = provider === undefined ? "cloudinfra:" : "";
  const others = tokenSources.slice(1).map((source) => prefix + source);
  const or = ` Alternatively, set ${others.slice(0, -1).join(", ")} or ${others.at(-1)}.`;
  throw new CloudInfraError("config_missing", notSet(name, provider, what), {
    hint: hintToSet(name, provider, "https://api.example.com") + (name === "token" ? or : ""),
  });
}

function notSet(name: SettingName, provider: string | undefined, what = ""): string {
  return provider === undefined
    ? `the required setting cloudinfra:${name}${what} is not set`
    : `the required argument \`${name}\`${what} of the provider "${provider}" is not set`;
}

/** The parser for each type of setting, and the description of the type in errors. */
const types = {
  string: { parse: (text: string) => text, what: "a string" },
  number: {
    parse: (text: string) => (Number.isFinite(Number(text)) && Number(text) > 0 ? Number(text) : undefined),
    what: "a number greater than zero",
  },
  boolean: {
    parse: (text: string) => (text === "true" ? true : text === "false" ? false : undefined),
    what: "true or false",
  },
  duration: { parse: parseDuration, what: 'a duration such as "90s", "30m" or "1h30m"' },
  list: { parse: parseList, what: "a list of strings" },
} as const satisfies Record<Setting["type"], unknown>;

/** The type of a parsed value. Durations are in milliseconds. */
type Parsed<Type extends Setting["type"]> = NonNullable<ReturnType<(typeof types)[Type]["parse"]>>;

type Value<Name extends SettingName> =
  | Parsed<(typeof settings)[Name]["type"]>
  | ((typeof settings)[Name] extends { readonly default: string } ? never : undefined);

function read<Name extends SettingName>(name: Name, lookUp: Lookup): Value<Name>;
function read(name: SettingName, lookUp: Lookup): Parsed<Setting["type"]> | undefined {
  const { type, default: text }: Setting = settings[name];
  const setting = lookUp(name);
  const value = setting?.value ?? text;
  if (value === undefined) return undefined;
  const { parse, what } = types[type];
  const parsed = parse(value);
  if (parsed !== undefined || setting === undefined) return parsed;
  throw new CloudInfraError("config_invalid", `${setting.source} must be ${what}`, { hint: setting.hint });
}

/** Parses a comma-separated list or a JSON array. `pulumi config set --path` writes lists as JSON arrays. */
function parseList(text: string): readonly string[] | undefined {
  if (!text.startsWith("[")) return text.split(/\s*,\s*/).filter(Boolean);
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every((item) => typeof item === "string") ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The settings of which one must be set, and not more than one. */
export const tokenSources = [
  "token",
  "tokenFile",
  "tokenCommand",
  "oidcTokenEndpoint",
  "oidcIssuer",
] as const;

function isTokenSource(name: string): boolean {
  return tokenSources.some((source) => source === name);
}

/** Finds the token source in one place. The other settings of an exchange may be in a different place. */
function tokenSetting(inPlace: Lookup, lookUp: Lookup, provider: string | undefined) {
  const given = tokenSources.flatMap((kind) => {
    const setting = inPlace(kind);
    return setting ? [{ kind, value: setting.value, source: setting.source }] : [];
  });
  if (given.length > 1) {
    const names = given.map(({ source }) => source).join(" and ");
    throw new CloudInfraError("config_invalid", `more than one token source is set: ${names}`, {
      hint: "Remove all token sources except one.",
    });
  }
  const [one] = given;
  if (one === undefined) return undefined;
  const { kind, value, source } = one;
  if (kind !== "oidcTokenEndpoint" && kind !== "oidcIssuer") return { kind, value, source };
  const audience = read("oidcAudience", lookUp);
  return {
    ...{ kind, value, source, audience },
    subject: subjectOf(lookUp("oidcSubject"), source, provider),
    subjectAudience: read("oidcSubjectAudience", lookUp) ?? audience,
    subjectTokenType: read("oidcSubjectTokenType", lookUp),
    scope: read("oidcScope", lookUp),
    clientId: read("oidcClientId", lookUp),
    clientSecret: read("oidcClientSecret", lookUp),
  };
}

const SUBJECTS = "github, file:<path> or env:<variable>";

function subjectOf(setting: Found | undefined, neededBy: string, provider: string | undefined): Subject {
  const hint = `${setting?.hint ?? hintToSet("oidcSubject", provider)} The value must be ${SUBJECTS}.`;
  if (setting === undefined) {
    const message = `${notSet("oidcSubject", provider)}: ${neededBy} requires a token to exchange`;
    throw new CloudInfraError("config_missing", message, { hint });
  }
  if (setting.value === "github") return { kind: "github" };
  const [, kind, rest = ""] = /^(file|env):\s*(\S.*)$/.exec(setting.value) ?? [];
  if (kind === "file") return { kind, path: rest };
  if (kind === "env") return { kind, name: rest };
  // The value may be the token itself, so the message doesn't contain the value.
  throw new CloudInfraError("config_invalid", `${setting.source} must be ${SUBJECTS}`, { hint });
}
