import { profileLookup, profileNames } from "../../provider/settings/profile";
import { found } from "../../provider/settings/setting-values";
import { type Deployment, inClear } from "./deployment";

/** The settings with which the stack was last used. The token is among those in the state, and is not looked at. */
export interface StoredSettings {
  /** The names of all profiles. */
  readonly profiles: readonly string[];
  /**
   * The address that a profile leads to, or the settings without one. Throws `config_missing`, `config_invalid`.
   *
   * @param named counts before the settings' own, and not before a profile's
   */
  endpoint(profile: string | undefined, named?: string): string | undefined;
  readonly journalDir: string | undefined;
}

/** Reads the settings as the provider does: the stack's, which the state keeps, win over the environment's. */
export function storedSettings({ resources }: Deployment, environment: NodeJS.ProcessEnv): StoredSettings {
  const provider = resources.find(({ type }) => type === "pulumi:providers:pulumi-nodejs");
  const look = (name: string, variable: string): string | undefined =>
    [inClear(provider?.inputs[`cloudinfra:${name}`]), environment[variable]]
      .map((value) => (typeof value === "string" ? value.trim() : ""))
      .find((value) => value !== "");
  const general = look("endpoint", "CLOUDINFRA_ENDPOINT");
  const profiles = found(look("profiles", "CLOUDINFRA_PROFILES"), "the setting cloudinfra:profiles", "");
  return {
    profiles: profileNames(profiles),
    endpoint: (profile, named = general) =>
      profile === undefined ? named : (profileLookup(profile, profiles)("endpoint")?.value ?? named),
    journalDir: look("journalDir", "CLOUDINFRA_JOURNAL_DIR"),
  };
}
