import { CloudInfraError } from "../../diagnostics/error";
import { fixOf as fixOfProfile, profileLookup } from "./profile";
import { duration, fixOf, found, type Lookup, list, positive, variable, yesOrNo } from "./setting-values";
import { type TokenSetting, tokenSetting } from "./token-setting";

/** The settings of the stack (`cloudinfra:…`) and of the environment (`CLOUDINFRA_…`), parsed. */
export interface Settings {
  /** The name of the profile that they are of. */
  readonly profile: string | undefined;
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

/** What goes with an endpoint: a profile with one of its own has these of its own, or none. */
const OF_ENDPOINT = /^(token|oidc|formerEndpoints$)/;

/**
 * Reads the settings; the stack's win over the environment's, and a profile's over both.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`: names the setting, the command that sets it, the variable
 */
export function readSettings(
  stack: (key: string) => string | undefined,
  environment: NodeJS.ProcessEnv,
  profile?: string,
): Settings {
  const inStack: Lookup = (name) =>
    found(stack(`cloudinfra:${name}`), `the stack's setting cloudinfra:${name}`, fixOf(name));
  const inEnvironment: Lookup = (name) =>
    found(environment[variable(name)], `the variable ${variable(name)}`, fixOf(name));
  const general: Lookup = (name) => inStack(name) ?? inEnvironment(name);
  const inProfile: Lookup =
    profile === undefined ? () => undefined : profileLookup(profile, general("profiles"));
  const isElsewhere = inProfile("endpoint") !== undefined;
  const look: Lookup = (name) =>
    inProfile(name) ?? (isElsewhere && OF_ENDPOINT.test(name) ? undefined : general(name));
  // Its own source has nothing of the general one: a client's secret would go to another token service.
  const ownToken = tokenSetting(inProfile, inProfile, profile);
  const generalToken = () => tokenSetting(inStack, look) ?? tokenSetting(inEnvironment, look);
  return {
    profile,
    endpoint: (look("endpoint") ?? missing("endpoint", profile)).value,
    token: ownToken ?? (isElsewhere ? undefined : generalToken()) ?? missing("token", profile),
    operationTimeoutMs: duration(look("operationTimeout")) ?? DEFAULT_TIMEOUT_MS,
    allowHttp: yesOrNo(look("allowHttp")),
    concurrency: positive(look("concurrency")),
    maxRequestsPerSecond: positive(look("maxRequestsPerSecond")),
    revisionField: look("revisionField")?.value,
    ipAddressField: look("ipAddressField")?.value,
    formerEndpoints: list(look("formerEndpoints")),
    journalDir: general("journalDir")?.value,
    caFile: look("caFile")?.value,
  };
}

const MISSING = {
  endpoint: { what: "the address of the service", example: " https://api.example.com" },
  token: { what: "a token", example: "" },
};
const OTHERS =
  "; or cloudinfra:tokenFile, cloudinfra:tokenCommand, cloudinfra:oidcTokenEndpoint or cloudinfra:oidcIssuer";

function missing(name: keyof typeof MISSING, profile: string | undefined): never {
  const { what, example } = MISSING[name];
  if (profile !== undefined) {
    const message = `the profile "${profile}" has no ${name}: ${what} is needed`;
    const hint = fixOfProfile(profile, name);
    throw new CloudInfraError("config_missing", message, { hint });
  }
  const hint = fixOf(name, example);
  throw new CloudInfraError("config_missing", `cloudinfra:${name} is not set: ${what} is needed`, {
    hint: hint + (name === "token" ? OTHERS : ""),
  });
}
