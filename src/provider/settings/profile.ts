import * as v from "valibot";
import { CloudInfraError } from "../../diagnostics/error";
import { type Found, flagFor, found, type Lookup, variable } from "./setting-values";

/** What a profile may set: all but what belongs to the machine. */
const SETTINGS: readonly string[] = [
  ...["endpoint", "formerEndpoints", "allowHttp", "caFile", "token", "tokenFile", "tokenCommand"],
  ...["oidcTokenEndpoint", "oidcIssuer", "oidcSubject", "oidcSubjectAudience", "oidcSubjectTokenType"],
  ...["oidcAudience", "oidcScope", "oidcClientId", "oidcClientSecret"],
  ...["operationTimeout", "concurrency", "maxRequestsPerSecond", "revisionField", "ipAddressField"],
];

/** `pulumi config set --path` makes numbers and truth values of texts that look like them. Of long numbers, every digit counts. */
const value = v.union([v.string(), v.boolean(), v.array(v.string())]);
const numbersAsText = (_name: string, value: unknown, context?: { source: string }): unknown =>
  typeof value === "number" ? context?.source : value;
const json = v.parseJson({ reviver: numbersAsText });
const profiles = v.pipe(v.string(), json, v.record(v.string(), v.record(v.string(), value)));

const HOW = "pulumi config set --path cloudinfra:profiles.<name>.<setting> …";

/**
 * The settings of one profile.
 *
 * @param all the setting `profiles`
 * @throws CloudInfraError `config_missing` where there is no such profile, `config_invalid`; never with a value
 */
export function profileLookup(name: string, all: Found | undefined): Lookup {
  const known: Profiles = all === undefined ? new Map() : parsed(all);
  const own = known.get(name);
  if (own === undefined) {
    const names = [...known.keys()].map((one) => `"${one}"`).join(", ") || "none";
    throw new CloudInfraError("config_missing", `there is no profile "${name}"; there are: ${names}`, {
      hint:
        `pulumi config set --path ${pathOf(name, "endpoint")} https://…, or correct the name in the program; ` +
        "where only the state still has that name, keep it beside the new one until an `up` has succeeded",
    });
  }
  return (setting) => {
    const text = own.get(setting);
    return text === undefined
      ? undefined
      : found(text, `${all?.source} ("${name}", ${setting})`, fixOf(name, setting));
  };
}

/** Every profile there is. */
export function profileNames(all: Found | undefined): string[] {
  return all === undefined ? [] : [...parsed(all).keys()];
}

/** What sets a setting of a profile. */
export function fixOf(profile: string, setting: string): string {
  return `pulumi config set${flagFor(setting)} --path ${pathOf(profile, setting)} …, or the variable ${variable("profiles")}`;
}

function pathOf(profile: string, setting: string): string {
  const isPlain = /^[\w-]+$/.test(profile);
  return isPlain
    ? `cloudinfra:profiles.${profile}.${setting}`
    : `'cloudinfra:profiles["${profile}"].${setting}'`;
}

/** By name, the settings of each as texts. */
type Profiles = ReadonlyMap<string, ReadonlyMap<string, string>>;

function parsed(all: Found): Profiles {
  const maps = v.safeParse(profiles, all.value);
  if (!maps.success)
    throw new CloudInfraError(
      "config_invalid",
      `${all.source} is not a map of profiles, each a map of settings`,
      {
        hint: HOW,
      },
    );
  return new Map(
    Object.entries(maps.output).map(([name, settings]) => {
      const strange = Object.keys(settings).find((setting) => !SETTINGS.includes(setting));
      if (strange !== undefined)
        throw new CloudInfraError(
          "config_invalid",
          `${all.source} ("${name}") has a setting that no profile has: ${strange}`,
          {
            hint: `a profile may have: ${SETTINGS.join(", ")}`,
          },
        );
      return [name, new Map(Object.entries(settings).map(([setting, one]) => [setting, asText(one)]))];
    }),
  );
}

const asText = (one: v.InferOutput<typeof value>): string =>
  Array.isArray(one) ? JSON.stringify(one) : String(one);
