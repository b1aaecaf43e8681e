import { type Deployment, inClear } from "./deployment";

/** The settings with which the stack was last used. The token is among those in the state, and is not looked at. */
export interface StoredSettings {
  readonly endpoint: string | undefined;
  readonly journalDir: string | undefined;
}

/** Reads the settings as the provider does: the stack's, which the state keeps, win over the environment's. */
export function storedSettings({ resources }: Deployment, environment: NodeJS.ProcessEnv): StoredSettings {
  const provider = resources.find(({ type }) => type === "pulumi:providers:pulumi-nodejs");
  const look = (name: string, variable: string): string | undefined =>
    [inClear(provider?.inputs[`cloudinfra:${name}`]), environment[variable]]
      .map((value) => (typeof value === "string" ? value.trim() : ""))
      .find((value) => value !== "");
  return {
    endpoint: look("endpoint", "CLOUDINFRA_ENDPOINT"),
    journalDir: look("journalDir", "CLOUDINFRA_JOURNAL_DIR"),
  };
}
