import { parseEndpoint } from "../../api/endpoint";
import { hiddenOf } from "../../model/state";
import type { RecoverArgs } from "./args";
import type { InterruptedCreation } from "./creations";
import { type Deployment, type Resource, withoutSecretMarks } from "./export";

/** How errors name the address from the command line. */
export const ENDPOINT_OPTION = "the option --endpoint";

/** What a journal is opened with. */
export interface JournalPlace {
  /** The normalized base URL of the service. */
  readonly endpoint: string;
  /** The setting `journalDir`. */
  readonly journalDir: string | undefined;
}

/** What the command line and the stack's configuration say beside the state. */
export interface Given {
  /** The address from the command line. Explicit providers with an address of their own keep it. */
  readonly endpoint?: string | undefined;
  /** The stack's present configuration, if it can be read. */
  readonly config?: ((key: string) => string | undefined) | undefined;
}

/** The settings that the stack was last used with. The state has the token too, but nothing reads it. */
export interface StoredSettings {
  /**
   * The journal for a creation with this provider; undefined if no setting names the service.
   *
   * @throws CloudInfraError `config_invalid`
   */
  placeOf(creation: Pick<InterruptedCreation, "provider">): JournalPlace | undefined;
  /** The journals for all providers. */
  readonly places: readonly JournalPlace[];
  /** The folders of all providers' journals. */
  readonly journalDirs: readonly JournalPlace["journalDir"][];
}

/** Reads the settings as the provider does: those in the state take precedence over the environment. */
export function storedSettings(
  { resources }: Deployment,
  environment: NodeJS.ProcessEnv,
  given: Given = {},
): StoredSettings {
  const providers = resources.filter(({ type }) => type === "pulumi:providers:pulumi-nodejs");
  const byReference = new Map(
    providers.map((one) => [`${one.urn}::${one.id}`, settingsOf(one, environment, given)]),
  );
  const ofDefault = settingsOf(providers.find(isDefault), environment, given);
  const each = [ofDefault, ...byReference.values()];
  const all = each.map(({ place }) => place()).filter((place) => place !== undefined);
  return {
    placeOf: ({ provider = "" }) => (byReference.get(provider) ?? ofDefault).place(),
    places: [...new Map(all.map((place) => [JSON.stringify(place), place])).values()],
    journalDirs: [...new Set(each.map(({ journalDir }) => journalDir))],
  };
}

/** The engine makes default providers, the program makes explicit ones. */
function isDefault({ urn }: Resource): boolean {
  return /::default(_[\w.-]*)?$/.test(urn);
}

function settingsOf(
  provider: Resource | undefined,
  environment: NodeJS.ProcessEnv,
  { endpoint: named, config }: Given,
) {
  const stored = (name: string): string | undefined =>
    textOf(withoutSecretMarks(provider?.inputs[`cloudinfra:${name}`]));
  const look = (name: string, variable: string): string | undefined =>
    stored(name) ?? textOf(environment[variable]);
  const isExplicit = provider !== undefined && !isDefault(provider);
  const address =
    (isExplicit ? stored("endpoint") : undefined) ?? named ?? look("endpoint", "CLOUDINFRA_ENDPOINT");
  // The next `up` reads entries in the present folder. A configuration that has lost its address may not be the one that it uses.
  const present = (name: string): string | undefined =>
    isExplicit ? undefined : textOf(config?.(`cloudinfra:${name}`));
  const hasLostAddress = stored("endpoint") !== undefined && present("endpoint") === undefined;
  const last = isExplicit || config === undefined || hasLostAddress ? stored("journalDir") : undefined;
  const journalDir = present("journalDir") ?? last ?? textOf(environment.CLOUDINFRA_JOURNAL_DIR);
  return {
    journalDir,
    place(): JournalPlace | undefined {
      if (address === undefined) return undefined;
      // Nothing is sent there.
      const setting = address === named ? ENDPOINT_OPTION : undefined;
      const { base: endpoint } = parseEndpoint(address, { allowHttp: true, setting });
      return { endpoint, journalDir };
    },
  };
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** The name that backends without organizations use for all stacks. */
const NO_ORGANIZATION = "organization";

/**
 * Returns the organization of the stack: the one that `--stack` names, or else the one that the state names.
 *
 * @returns undefined if the backend has no organizations, or if the state names none or several: a stack can be moved
 */
export function organizationOf(
  { resources, pending_operations }: Deployment,
  { stack }: Pick<RecoverArgs, "stack">,
): string | undefined {
  const [named, ...rest] = stack?.split("/") ?? [];
  if (rest.length > 0) return named === NO_ORGANIZATION ? undefined : named;
  const known = [...resources, ...pending_operations.map(({ resource }) => resource)]
    .map(
      ({ inputs }) => hiddenOf({ __organization: withoutSecretMarks(inputs.__organization) }).__organization,
    )
    .filter((organization) => organization !== undefined);
  const [only, ...others] = new Set(known);
  return others.length === 0 ? only : undefined;
}
