import { parseEndpoint } from "../../api/endpoint";
import { profileLookup, profileNames } from "../../provider/settings/profile";
import { found } from "../../provider/settings/setting-values";
import type { CutOff } from "./creations";
import { type Deployment, inClear, type Resource } from "./deployment";

/** What a journal is opened with. */
export interface JournalPlace {
  /** The normalized base URL of the service. */
  readonly endpoint: string;
  /** The setting `journalDir`. */
  readonly journalDir: string | undefined;
}

/** The settings that the stack was last used with. The state has the token too, but nothing reads it. */
export interface StoredSettings {
  /**
   * The journal for a creation with this provider and profile; undefined if no setting names the service.
   *
   * @throws CloudInfraError `config_missing`, `config_invalid`
   */
  placeOf(creation: Pick<CutOff, "provider" | "profile">): JournalPlace | undefined;
  /** The journals for all providers and profiles. */
  readonly places: readonly JournalPlace[];
}

/**
 * Reads the settings as the provider does: those in the state take precedence over the environment.
 *
 * @param endpoint the address from the command line; explicit providers and profiles with an address of their own keep it
 */
export function storedSettings(
  { resources }: Deployment,
  environment: NodeJS.ProcessEnv,
  endpoint?: string,
): StoredSettings {
  const providers = resources.filter(({ type }) => type === "pulumi:providers:pulumi-nodejs");
  const byReference = new Map(
    providers.map((one) => [`${one.urn}::${one.id}`, settingsOf(one, environment, endpoint)]),
  );
  const ofDefault = settingsOf(providers.find(isDefault), environment, endpoint);
  const all = [ofDefault, ...byReference.values()].flatMap(({ profiles, placeOf }) =>
    [undefined, ...profiles].map(placeOf).filter((place) => place !== undefined),
  );
  return {
    placeOf: ({ provider = "", profile }) => (byReference.get(provider) ?? ofDefault).placeOf(profile),
    places: [...new Map(all.map((place) => [JSON.stringify(place), place])).values()],
  };
}

/** The engine makes default providers, the program makes explicit ones. */
function isDefault({ urn }: Resource): boolean {
  return /::default(_[\w.-]*)?$/.test(urn);
}

function settingsOf(provider: Resource | undefined, environment: NodeJS.ProcessEnv, named?: string) {
  const stored = (name: string): string | undefined =>
    textOf(inClear(provider?.inputs[`cloudinfra:${name}`]));
  const look = (name: string, variable: string): string | undefined =>
    stored(name) ?? textOf(environment[variable]);
  const own = provider && !isDefault(provider) ? stored("endpoint") : undefined;
  const general = own ?? named ?? look("endpoint", "CLOUDINFRA_ENDPOINT");
  const profiles = found(look("profiles", "CLOUDINFRA_PROFILES"), "the setting cloudinfra:profiles", "");
  const journalDir = look("journalDir", "CLOUDINFRA_JOURNAL_DIR");
  return {
    profiles: profileNames(profiles),
    placeOf(profile: string | undefined): JournalPlace | undefined {
      const ofProfile = profile === undefined ? undefined : profileLookup(profile, profiles)("endpoint");
      const text = ofProfile?.value ?? general;
      if (text === undefined) return undefined;
      // Nothing is sent there.
      const { base: endpoint } = parseEndpoint(text, { allowHttp: true });
      return { endpoint, journalDir };
    },
  };
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}
