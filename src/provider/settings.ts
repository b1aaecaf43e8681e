import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { parseDuration } from "./durations";

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
}

/** Where the token comes from: the setting's name as a person knows it, and its value. */
export interface TokenSetting {
  readonly kind: "token" | "tokenFile" | "tokenCommand";
  readonly value: string;
  readonly source: string;
}

/** A setting's value and, in words, where it stands. */
type Found = { readonly value: string; readonly source: string };
type Lookup = (name: string) => Found | undefined;

const DEFAULT_TIMEOUT_MS = 30 * 60_000;
const TOKEN_SETTINGS = ["token", "tokenFile", "tokenCommand"] as const;

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
      tokenSetting(inStack) ?? tokenSetting(inEnvironment) ?? missing("token", "a token", "", " --secret"),
    operationTimeoutMs: duration("operationTimeout", look("operationTimeout")) ?? DEFAULT_TIMEOUT_MS,
    allowHttp: yesOrNo("allowHttp", look("allowHttp")),
    concurrency: positive("concurrency", look("concurrency")),
    maxRequestsPerSecond: positive("maxRequestsPerSecond", look("maxRequestsPerSecond")),
    revisionField: look("revisionField")?.value,
    ipAddressField: look("ipAddressField")?.value,
    formerEndpoints: list("formerEndpoints", look("formerEndpoints")),
    journalDir: look("journalDir")?.value,
  };
}

/** The environment's name of a setting: operationTimeout → CLOUDINFRA_OPERATION_TIMEOUT. */
function variable(name: string): string {
  return `CLOUDINFRA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function found(value: string | undefined, source: string): Found | undefined {
  return value === undefined || value.trim() === "" ? undefined : { value: value.trim(), source };
}

function missing(name: string, what: string, example: string, flags = ""): never {
  throw new CloudInfraError("config_missing", `cloudinfra:${name} is not set: ${what} is needed`, {
    hint:
      `pulumi config set${flags} cloudinfra:${name}${example && ` ${example}`}, or the variable ${variable(name)}` +
      (name === "token" ? "; or cloudinfra:tokenFile or cloudinfra:tokenCommand" : ""),
  });
}

function tokenSetting(look: Lookup): TokenSetting | undefined {
  const given = TOKEN_SETTINGS.flatMap((kind) => {
    const setting = look(kind);
    return setting ? [{ kind, ...setting }] : [];
  });
  if (given.length > 1) {
    const names = given.map(({ source }) => source).join(" and ");
    throw new CloudInfraError("config_invalid", `the token has more than one source: ${names}`, {
      hint: "keep one of them",
    });
  }
  return given[0];
}

function invalid(name: string, { source }: Found, wanted: string): never {
  throw new CloudInfraError("config_invalid", `${source} is ${wanted}`, {
    hint: `pulumi config set cloudinfra:${name} …, or the variable ${variable(name)}`,
  });
}

function duration(name: string, setting: Found | undefined): number | undefined {
  if (setting === undefined) return undefined;
  return (
    parseDuration(setting.value) ?? invalid(name, setting, 'not a duration such as "90s", "30m" or "1h30m"')
  );
}

function positive(name: string, setting: Found | undefined): number | undefined {
  if (setting === undefined) return undefined;
  const number = Number(setting.value);
  return Number.isFinite(number) && number > 0 ? number : invalid(name, setting, "not a number above zero");
}

function yesOrNo(name: string, setting: Found | undefined): boolean {
  if (setting === undefined) return false;
  if (setting.value !== "true" && setting.value !== "false")
    return invalid(name, setting, "neither true nor false");
  return setting.value === "true";
}

/** A list is written as JSON by `pulumi config set --path`, and with commas elsewhere. */
function list(name: string, setting: Found | undefined): string[] {
  if (setting === undefined) return [];
  if (!setting.value.startsWith("["))
    return setting.value
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
  let parsed: unknown;
  try {
    parsed = JSON.parse(setting.value);
  } catch {
    return invalid(name, setting, "not a list"); // the value itself may not be shown, nor the parser's excerpt of it
  }
  const texts = v.safeParse(v.array(v.string()), parsed);
  return texts.success ? texts.output : invalid(name, setting, "not a list of texts");
}
