import { CloudInfraError } from "../diagnostics/error";
import { duration, found, type Lookup, list, positive, variable, yesOrNo } from "./setting-values";
import { type TokenSetting, tokenSetting } from "./token-setting";

/** The settings of the stack (`cloudinfra:…`) and of the environment (`CLOUDINFRA_…`), parsed. */
export interface Settings {
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

/**
 * Reads the settings; the stack's win over the environment's.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`: names the setting, the command that sets it, the variable
 */
export function readSettings(
  stack: (key: string) => string | undefined,
  environment: NodeJS.ProcessEnv,
): Settings {
  const inStack: Lookup = (name) =>
    found(stack(`cloudinfra:${name}`), `the stack's setting cloudinfra:${name}`);
  const inEnvironment: Lookup = (name) =>
    found(environment[variable(name)], `the variable ${variable(name)}`);
  const look: Lookup = (name) => inStack(name) ?? inEnvironment(name);
  return {
    endpoint: (
      look("endpoint") ?? missing("endpoint", "the address of the service", "https://api.example.com")
    ).value,
    token:
      tokenSetting(inStack, look) ??
      tokenSetting(inEnvironment, look) ??
      missing("token", "a token", "", " --secret"),
    operationTimeoutMs: duration("operationTimeout", look("operationTimeout")) ?? DEFAULT_TIMEOUT_MS,
    allowHttp: yesOrNo("allowHttp", look("allowHttp")),
    concurrency: positive("concurrency", look("concurrency")),
    maxRequestsPerSecond: positive("maxRequestsPerSecond", look("maxRequestsPerSecond")),
    revisionField: look("revisionField")?.value,
    ipAddressField: look("ipAddressField")?.value,
    formerEndpoints: list("formerEndpoints", look("formerEndpoints")),
    journalDir: look("journalDir")?.value,
    caFile: look("caFile")?.value,
  };
}

function missing(name: string, what: string, example: string, flags = ""): never {
  throw new CloudInfraError("config_missing", `cloudinfra:${name} is not set: ${what} is needed`, {
    hint:
      `pulumi config set${flags} cloudinfra:${name}${example && ` ${example}`}, or the variable ${variable(name)}` +
      (name === "token"
        ? "; or cloudinfra:tokenFile, cloudinfra:tokenCommand, cloudinfra:oidcTokenEndpoint or cloudinfra:oidcIssuer"
        : ""),
  });
}
