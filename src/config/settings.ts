import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { CloudInfraError } from "../diagnostics/error";
import {
  argumentFix,
  fixOf,
  foundSetting,
  parseBoolean,
  parseDurationSetting,
  parseList,
  parsePositiveNumber,
  type SettingLookup,
  stackFix,
  variableName,
} from "./setting-values";
import { type TokenSetting, tokenSetting } from "./token-settings";

/** The parsed settings: those of the stack (`cloudinfra:…`), or of an explicit provider, and those of the environment (`CLOUDINFRA_…`). */
export interface Settings {
  /** Name of the explicit provider. Undefined for the default provider. */
  readonly provider: string | undefined;
  /** Base address of the service; given with or without `/v1` and a slash. */
  readonly endpoint: string;
  readonly token: TokenSetting;
  /** How long a create, update or delete may take where `customTimeouts` does not say. Milliseconds. */
  readonly operationTimeoutMs: number;
  /** Plain http also to other machines than this one. */
  readonly allowHttp: boolean;
  /** Most requests in flight at once. */
  readonly concurrency: number | undefined;
  readonly maxRequestsPerSecond: number | undefined;
  /** Name of the field that holds an instance's revision, where it is none of the usual ones. */
  readonly revisionField: string | undefined;
  /** Name of the field that holds an instance's public address, where it is none of the usual ones. */
  readonly ipAddressField: string | undefined;
  /** Addresses that the service had before; objects recorded there are taken to be at `endpoint` now. */
  readonly formerEndpoints: readonly string[];
  /** Folder of the journal of creations; relative to the program's folder. */
  readonly journalDir: string | undefined;
  /** A file with certificates of further authorities (PEM); relative to the program's folder. */
  readonly caFile: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 30 * 60_000;

/** The configuration key with which an explicit provider tells its process its name. */
export const PROVIDER_NAME = "cloudinfra:providerName";

/** Settings that decide where requests and the journal go, and with which token. */
const OF_TARGET = /^cloudinfra:(endpoint|formerEndpoints|journalDir|caFile|token|oidc)/;

/**
 * Returns a stack's settings, or the arguments of an explicit provider, as they apply. Under the testing kit, which sets CLOUDINFRA_EMULATED,
 * only the environment names the service, the token and the journal, so that no request leaves the emulator.
 */
function applicable(
  configured: (key: string) => string | undefined,
  environment: NodeJS.ProcessEnv,
): (key: string) => string | undefined {
  if (!environment.CLOUDINFRA_EMULATED) return configured;
  return (key) => (OF_TARGET.test(key) ? undefined : configured(key));
}

/** What belongs to an endpoint: a token must never be sent to another one. */
const OF_ENDPOINT = /^(token|oidc|formerEndpoints$)/;

/**
 * Reads the settings. Those of the configuration take precedence over the environment. An explicit provider with an endpoint of its own
 * doesn't use a token from the environment.
 *
 * @param given the stack's configuration, or the arguments of an explicit provider
 * @throws CloudInfraError `config_missing`, `config_invalid`: names the setting, the command that sets it, the variable
 */
export function readSettings(
  given: (key: string) => string | undefined,
  environment: NodeJS.ProcessEnv,
): Settings {
  const configured = applicable(given, environment);
  const provider = configured(PROVIDER_NAME);
  const inConfiguration: SettingLookup = (name) =>
    provider === undefined
      ? foundSetting(
          configured(`cloudinfra:${name}`),
          `the stack's setting cloudinfra:${name}`,
          stackFix(name),
        )
      : foundSetting(
          configured(`cloudinfra:${name}`),
          `the argument \`${name}\` of the provider "${provider}"`,
          argumentFix(name, provider),
        );
  const inEnvironment: SettingLookup = (name) =>
    foundSetting(
      environment[variableName(name)],
      `the variable ${variableName(name)}`,
      provider === undefined ? fixOf(name) : `Correct the variable ${variableName(name)}`,
    );
  const isElsewhere = provider !== undefined && inConfiguration("endpoint") !== undefined;
  const look: SettingLookup = (name) =>
    inConfiguration(name) ?? (isElsewhere && OF_ENDPOINT.test(name) ? undefined : inEnvironment(name));
  // The client secret of another token source would be sent to a token service that it isn't for.
  const ofOwnSource = provider === undefined ? look : inConfiguration;
  const fromEnvironment = () => (isElsewhere ? undefined : tokenSetting(inEnvironment, look, provider));
  return {
    provider,
    endpoint: (look("endpoint") ?? missing("endpoint", provider)).value,
    token:
      tokenSetting(inConfiguration, ofOwnSource, provider) ?? fromEnvironment() ?? missing("token", provider),
    operationTimeoutMs: parseDurationSetting(look("operationTimeout")) ?? DEFAULT_TIMEOUT_MS,
    allowHttp: parseBoolean(look("allowHttp")),
    concurrency: parsePositiveNumber(look("concurrency")),
    maxRequestsPerSecond: parsePositiveNumber(look("maxRequestsPerSecond")),
    revisionField: look("revisionField")?.value,
    ipAddressField: look("ipAddressField")?.value,
    formerEndpoints: parseList(look("formerEndpoints")),
    journalDir: look("journalDir")?.value,
    caFile: look("caFile")?.value,
  };
}

const MISSING = {
  endpoint: { what: "the address of the service", example: " https://api.example.com" },
  token: { what: "a token", example: "" },
};
const OTHER_SOURCES = ["tokenFile", "tokenCommand", "oidcTokenEndpoint", "oidcIssuer"];

function missing(name: keyof typeof MISSING, provider: string | undefined): never {
  const { what, example } = MISSING[name];
  const lacks =
    provider === undefined ? `cloudinfra:${name} is not set` : `the provider "${provider}" has no ${name}`;
  const fix = provider === undefined ? fixOf(name, example) : argumentFix(name, provider);
  const others = OTHER_SOURCES.map((other) => (provider === undefined ? `cloudinfra:${other}` : other));
  const or = name === "token" ? `; or ${others.slice(0, -1).join(", ")} or ${others.at(-1)}` : "";
  throw new CloudInfraError("config_missing", `${lacks}: ${what} is needed`, { hint: fix + or });
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates in the file of the setting `caFile`.
 *
 * @throws CloudInfraError `config_invalid`
 */
export function readCertificates(file: string): readonly string[] {
  const hint = "it must hold the authority's certificates as PEM; the path counts from the program's folder";
  const failed = (why: string): CloudInfraError =>
    new CloudInfraError("config_invalid", `the file ${file} of cloudinfra:caFile ${why}`, { hint });
  let text: string;
  try {
    text = readFileSync(path.resolve(file), "utf8");
  } catch (cause) {
    throw failed(`can't be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw failed("holds no certificate");
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch {
      throw failed(`holds a damaged certificate, number ${index + 1}`);
    }
  }
  return certificates;
}
