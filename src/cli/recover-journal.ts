import { parseEndpoint } from "../api/endpoint";
import type { Configuration } from "../config/settings";
import { CloudInfraError } from "../diagnostics/error";
import { type Entry, visibleId } from "../journal/entry";
import { type Journal, type NewEntry, openJournal } from "../journal/journal";
import { stackOf } from "../journal/location";
import type { RecoverOptions } from "./commands";
import { type InterruptedCreation, placeholderKeys } from "./recover-creations";
import type { Deployment, StackProvider } from "./stack-export";

/** The settings that determine where the journal entries of a stack are stored. */
export interface JournalSettings {
  /** The working directory of the program. */
  readonly folder: string;
  /** The folder of the project file. */
  readonly projectFolder: string;
  /** The stack's current configuration, if it can be read. */
  readonly config?: Configuration | undefined;
  readonly options: Pick<RecoverOptions, "endpoint" | "stack" | "file">;
}

export type StackJournals = Readonly<ReturnType<typeof stackJournals>>;

/**
 * Opens the journals that the next `up` on this machine reads. Each endpoint has its own journal.
 *
 * @throws CloudInfraError `config_invalid` if an endpoint is not a URL
 */
export function stackJournals(deployment: Deployment, settings: JournalSettings) {
  const { folder, projectFolder, options } = settings;
  const { providers } = deployment;
  const organization = organizationOf(deployment, options);
  const open = (endpoint: string, backend?: string): Journal =>
    openJournal({
      ...{ endpoint, dir: journalDirOf(providers, settings), cwd: folder, env: process.env, backend },
      organization: () => organization,
      projectFolder: () => projectFolder,
      warn: console.error,
    });
  // An exported file doesn't identify its backend, so the program's folder is used instead.
  const backend = options.file === undefined ? undefined : folder;
  const byEndpoint = new Map<string, Journal>();
  const journalFor = (provider: StackProvider | undefined): Journal | undefined => {
    const endpoint = endpointOf(provider, options.endpoint);
    if (endpoint === undefined) return undefined;
    const journal = byEndpoint.get(endpoint) ?? open(endpoint, backend);
    byEndpoint.set(endpoint, journal);
    return journal;
  };
  const ofDefault = journalFor(providers.find(({ isDefault }) => isDefault));
  const byReference = new Map(providers.map((one) => [one.reference, journalFor(one)]));
  const named =
    options.endpoint && parseEndpoint(options.endpoint, { allowHttp: true, setting: ENDPOINT_OPTION }).base;
  return {
    /** The journals for all endpoints. */
    all: [...byEndpoint.values()],
    /**
     * Returns the journal for a creation, depending on the provider of the resource.
     *
     * @throws CloudInfraError `config_missing` if no setting contains the address of the service
     */
    journalOf({ provider = "" }: Pick<InterruptedCreation, "provider">): Journal {
      const journal = byReference.get(provider) ?? ofDefault;
      if (journal !== undefined) return journal;
      throw new CloudInfraError("config_missing", "the state doesn't contain the address of the service", {
        hint: "Specify the address with --endpoint, or set CLOUDINFRA_ENDPOINT.",
      });
    },
    /** Two journals: the journal of the stack's own backend, and the journal to which `recover --file` writes. */
    ofBothBackends: [undefined, folder].map((one) => open(named ?? "", one)),
  };
}

const ENDPOINT_OPTION = "the option --endpoint";

/**
 * Returns the journal folder that the next `up` uses. If the stack's configuration can't be read or no longer contains the endpoint, the
 * folder comes from the last `up`.
 */
function journalDirOf(providers: readonly StackProvider[], { config }: JournalSettings): string | undefined {
  const ofDefault = providers.find(({ isDefault }) => isDefault);
  const present = (name: string): string | undefined => trimmed(config?.(`cloudinfra:${name}`));
  const hasLostAddress = stored(ofDefault, "endpoint") !== undefined && present("endpoint") === undefined;
  const isUsable = config !== undefined && !hasLostAddress;
  const last = isUsable ? [] : [ofDefault, ...providers].map((one) => stored(one, "journalDir"));
  return present("journalDir") ?? last.find(Boolean) ?? trimmed(process.env.CLOUDINFRA_JOURNAL_DIR);
}

/** Returns the normalized endpoint of a provider. The option `--endpoint` doesn't override the endpoint of an explicit provider. */
function endpointOf(provider: StackProvider | undefined, endpoint: string | undefined): string | undefined {
  const own = stored(provider, "endpoint");
  const isExplicit = provider !== undefined && !provider.isDefault;
  const address =
    (isExplicit ? own : undefined) ?? endpoint ?? own ?? trimmed(process.env.CLOUDINFRA_ENDPOINT);
  if (address === undefined) return undefined;
  const setting = address === endpoint ? ENDPOINT_OPTION : undefined;
  // Plain HTTP is safe here, because `recover` sends no requests.
  return parseEndpoint(address, { allowHttp: true, setting }).base;
}

function stored(provider: StackProvider | undefined, name: string): string | undefined {
  return trimmed(provider?.setting(`cloudinfra:${name}`));
}

function trimmed(text = ""): string | undefined {
  return text.trim() === "" ? undefined : text.trim();
}

/** The organization name that Pulumi uses in backends without organizations. */
const NO_ORGANIZATION = "organization";

/**
 * Returns the organization of the stack, from `--stack` or else from the state.
 *
 * @returns undefined if the backend has no organizations, or if the state doesn't contain exactly one
 */
export function organizationOf(
  { resources, pendingCreations }: Deployment,
  { stack }: Pick<RecoverOptions, "stack">,
): string | undefined {
  const [named, ...rest] = stack?.split("/") ?? [];
  if (rest.length > 0) return named === NO_ORGANIZATION ? undefined : named;
  const known = [...resources, ...pendingCreations].flatMap(({ inputs }) => inputs.organization ?? []);
  const [only, ...others] = new Set(known);
  return others.length === 0 ? only : undefined;
}

/**
 * The status of a creation's journal entry, as described in docs/recovery.md. Existing entries are never overwritten, because they may
 * contain more details than the state.
 */
export type EntryStatus = "written" | "would-write" | "present" | "waiting" | "not-resumable" | "not-written";

export interface RecoveredCreation extends Pick<InterruptedCreation, "kind" | "name" | "urn"> {
  readonly status: EntryStatus;
}

/** Writes the missing journal entries of interrupted creations. */
export async function writeEntries(
  journal: Journal,
  creations: readonly InterruptedCreation[],
  { dryRun = false }: Pick<RecoverOptions, "dryRun">,
): Promise<RecoveredCreation[]> {
  const keys = new Map<string, string>();
  const recovered: RecoveredCreation[] = [];
  for (const { kind, name, urn, entry } of creations) {
    if (entry !== undefined && (await journal.isGivenUp(entry.key))) continue;
    const status = entry === undefined ? "not-resumable" : await writeEntry(journal, keys, entry, dryRun);
    recovered.push({ kind, name, urn, status });
  }
  return recovered;
}

/** @param keys the keys of all entries so far, because a dry run doesn't write them to the journal */
async function writeEntry(
  journal: Journal,
  keys: Map<string, string>,
  entry: NewEntry,
  dryRun: boolean,
): Promise<EntryStatus> {
  if (!dryRun) await moveRenamedEntry(journal, entry);
  // A resource can have two journal entries, one for its creation and one for its replacement.
  const purpose = JSON.stringify([entry.urn, entry.replaces]);
  const known = keys.get(purpose) ?? (await journal.read(entry))?.key;
  if (known === undefined && !dryRun) {
    await journal.begin(entry);
    if ((await journal.read(entry))?.key !== entry.key) return "not-written";
  }
  keys.set(purpose, known ?? entry.key);
  if (known === undefined) return dryRun ? "would-write" : "written";
  return known === entry.key ? "present" : "waiting";
}

/**
 * Moves a journal entry to the current stack name and endpoint. `pulumi stack rename` changes the name, and `--endpoint` may contain a new
 * address.
 */
async function moveRenamedEntry(journal: Journal, { urn, key, resource }: NewEntry): Promise<void> {
  const withinStack = (urn: string): string => urn.slice(stackOf(urn).length);
  const entry = await journal.find(resource);
  if (entry?.key !== key || withinStack(entry.urn) !== withinStack(urn)) return;
  const isInPlace =
    entry.endpoint === journal.endpoint && (entry.urn === urn || entry.replaces !== undefined);
  if (!isInPlace) await journal.move(entry, { urn, replaces: entry.replaces });
}

/** A journal entry that matches no interrupted creation in the state. */
export interface StrayEntry {
  readonly urn: string;
  /** The id of the object, if it is known and not secret. */
  readonly id: string | undefined;
  /**
   * `object-in-state` means that a resource of the stack manages the object. `resource-not-in-state` means that the state doesn't contain
   * the resource.
   */
  readonly status: "object-in-state" | "resource-not-in-state";
}

/** Finds the journal entries of a stack that match no interrupted creation in the state. */
export async function findStrayEntries(journal: Journal, deployment: Deployment): Promise<StrayEntry[]> {
  const { resources, urns } = deployment;
  // An empty state doesn't contain the stack's name, so no journal entry can be matched.
  const stack = urns[0] && stackOf(urns[0]);
  const entries = (await journal.list()).filter(({ urn }) => stackOf(urn) === stack);
  return entries.flatMap((entry) => {
    const [urn, id] = [entry.urn, visibleId(entry)];
    // A different resource of the stack may have imported the object.
    const isManaged = resources.some(
      (one) => one.id !== undefined && one.id === entry.id && urn.split("::")[2]?.endsWith(one.type),
    );
    if (isManaged) return { urn, id, status: "object-in-state" };
    return urns.includes(urn) ? [] : { urn, id, status: "resource-not-in-state" };
  });
}

/**
 * Removes the journal entries of a resource, and gives up its unfinished creations on this machine. By default, entries for all endpoints
 * are removed. A dry run only counts the entries.
 *
 * @returns the numbers of removed entries and abandoned creations, or undefined if the journal can't be changed
 */
export async function forgetCreation(
  { ofBothBackends }: Pick<StackJournals, "ofBothBackends">,
  deployment: Deployment,
  urn: string,
  { endpoint, dryRun = false }: Pick<RecoverOptions, "endpoint" | "dryRun">,
): Promise<{ readonly entries: number; readonly abandoned: number } | undefined> {
  const entriesIn = async (journal: Journal): Promise<Entry[]> => {
    const entries = await (endpoint === undefined ? journal.listEverywhere() : journal.list());
    return entries.filter((entry) => entry.urn === urn);
  };
  const keys = new Set<string>();
  for (const journal of ofBothBackends) {
    for (const { key } of await entriesIn(journal)) {
      keys.add(key);
      if (!dryRun) await journal.remove(key);
    }
    if (!dryRun && (await entriesIn(journal)).length > 0) return undefined;
  }
  const inState = placeholderKeys(deployment, urn);
  const [journal] = ofBothBackends;
  for (const key of dryRun ? [] : inState) {
    await journal?.giveUp(key);
    if (!(await journal?.isGivenUp(key))) return undefined;
  }
  return { entries: keys.size, abandoned: inState.length };
}
