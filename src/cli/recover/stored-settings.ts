import { parseEndpoint } from "../../api/endpoint";
import { parseDesired } from "../../model/state";
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
  /** The folder of the stack's journal, which all its providers share. */
  readonly journalDir: JournalPlace["journalDir"];
}

/** Reads the settings as the provider does: those in the state take precedence over the environment. */
export function storedSettings(
  { resources }: Deployment,
  environment: NodeJS.ProcessEnv,
  given: Given = {},
): StoredSettings {
  const providers = resources.filter(({ type }) => type === "pulumi:providers:pulumi-nodejs");
  const journalDir = journalDirOf(providers, environment, given);
  const placeFor = (provider: Resource | undefined) => (): JournalPlace | undefined => {
    const endpoint = endpointOf(provider, environment, given);
    return endpoint === undefined ? undefined : { endpoint, journalDir };
  };
  const byReference = new Map(providers.map((one) => [`${one.urn}::${one.id}`, placeFor(one)]));
  const ofDefault = placeFor(providers.find(isDefault));
  const all = [ofDefault, ...byReference.values()].flatMap((place) => place() ?? []);
  return {
    placeOf: ({ provider = "" }) => (byReference.get(provider) ?? ofDefault)(),
    places: [...new Map(all.map((place) => [JSON.stringify(place), place])).values()],
    journalDir,
  };
}

/** The engine makes default providers, the program makes explicit ones. */
function isDefault({ urn }: Resource): boolean {
  return /::default(_[\w.-]*)?$/.test(urn);
}

/**
 * Returns the folder that the next `up` uses: the one in the stack's present configuration. If that can't be read, or has lost the address that the
 * last `up` had, the folder of the last `up` applies.
 */
function journalDirOf(
  providers: readonly Resource[],
  environment: NodeJS.ProcessEnv,
  { config }: Given,
): string | undefined {
  const present = (name: string): string | undefined => textOf(config?.(`cloudinfra:${name}`));
  const ofDefault = providers.find(isDefault);
  const hasLostAddress = storedIn(ofDefault, "endpoint") !== undefined && present("endpoint") === undefined;
  const isUsable = config !== undefined && !hasLostAddress;
  const last = isUsable ? [] : [ofDefault, ...providers].map((one) => storedIn(one, "journalDir"));
  return present("journalDir") ?? last.find(Boolean) ?? textOf(environment.CLOUDINFRA_JOURNAL_DIR);
}

/** Returns the normalized address of the service that a provider uses. */
function endpointOf(
  provider: Resource | undefined,
  environment: NodeJS.ProcessEnv,
  { endpoint: named }: Given,
): string | undefined {
  const stored = storedIn(provider, "endpoint");
  const isExplicit = provider !== undefined && !isDefault(provider);
  const address =
    (isExplicit ? stored : undefined) ?? named ?? stored ?? textOf(environment.CLOUDINFRA_ENDPOINT);
  if (address === undefined) return undefined;
  const setting = address === named ? ENDPOINT_OPTION : undefined;
  return parseEndpoint(address, { allowHttp: true, setting }).base; // no request is sent there
}

function storedIn(provider: Resource | undefined, name: string): string | undefined {
  return textOf(withoutSecretMarks(provider?.inputs[`cloudinfra:${name}`]));
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
      ({ inputs }) =>
        parseDesired({ __organization: withoutSecretMarks(inputs.__organization) }).organization,
    )
    .filter((organization) => organization !== undefined);
  const [only, ...others] = new Set(known);
  return others.length === 0 ? only : undefined;
}
