import path from "node:path";
import { comparableEndpoint, parseEndpoint } from "../api/endpoint";
import { type Configuration, environmentOf } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { oneLine } from "../diagnostics/redact";
import { type Entry, hasSecretName } from "../journal/entry";
import { type Journal, openJournal } from "../journal/journal";
import { projectFileFor, stackOf } from "../journal/location";
import { isPlaceholder } from "../model/pending";
import { commandLineFor, programFolder, stackSettings, type Target, trimmed } from "./pulumi";
import {
  type EntryStatus,
  interruptedCreations,
  type RecoveredCreation,
  titleOf,
  urnForNextUp,
  writeEntries,
} from "./recover-creations";
import { type Deployment, readExport, type StackProvider } from "./stack-export";

export interface RecoverOptions extends Target {
  readonly file?: string;
  readonly endpoint?: string;
  readonly dryRun?: boolean;
  readonly forget?: string;
  readonly json?: boolean;
}

/** Opens the journal of an endpoint that the next `up` on this machine reads. */
type OpenJournal = (endpoint: string) => Journal;

/** Runs `npx pulumi-cloudinfra recover`, and returns the exit code. */
export async function recover(options: RecoverOptions): Promise<number> {
  try {
    const folder = programFolder(options.cwd);
    const [deployment, config] = await Promise.all([
      readExport(options),
      options.file === undefined ? stackSettings(options) : undefined,
    ]);
    const organization = organizationOf(deployment, options);
    const projectFolder = path.dirname(projectFileFor(path.resolve(options.cwd)) ?? folder);
    const dir = journalDirOf(deployment, config);
    const open =
      (backend: string | undefined): OpenJournal =>
      (endpoint) =>
        openJournal({
          ...{ endpoint, backend, dir, cwd: folder, isDryRun: options.dryRun, warn: console.error },
          organization: () => organization,
          projectFolder: () => projectFolder,
        });
    if (options.forget !== undefined)
      return await forget([open(undefined), open(folder)], deployment, options.forget, options);
    // An exported file doesn't identify its backend, so the program's folder is used instead.
    return await writeMissingEntries(open(options.file && folder), deployment, options);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    console.error(formatError(error, { action: "recover" }));
    return 1;
  }
}

async function writeMissingEntries(
  open: OpenJournal,
  deployment: Deployment,
  options: RecoverOptions,
): Promise<number> {
  const { providers, defaultProvider } = deployment;
  const ofDefault = endpointOf(defaultProvider, options.endpoint);
  const byProvider = new Map(providers.map((one) => [one.reference, endpointOf(one, options.endpoint)]));
  const byEndpoint = Map.groupBy(
    interruptedCreations(deployment),
    ({ provider = "" }) => byProvider.get(provider) ?? ofDefault,
  );
  if (byEndpoint.has(undefined))
    throw new CloudInfraError("config_missing", "the state doesn't contain the address of the service", {
      hint: "Specify the address with --endpoint, or set CLOUDINFRA_ENDPOINT.",
    });
  const endpoints = new Set([ofDefault, ...byProvider.values()].filter((one) => one !== undefined));
  const creations: RecoveredCreation[] = [];
  const strayEntries: StrayEntry[] = [];
  for (const journal of [...endpoints].map(open)) {
    creations.push(...(await writeEntries(journal, byEndpoint.get(journal.endpoint) ?? [], options)));
    strayEntries.push(...(await findStrayEntries(journal, deployment, endpoints)));
  }
  const clearCommand = deployment.pendingCreations.length > 0 ? clearCommandFor(deployment, options) : null;
  const { dryRun = false, json } = options;
  if (json) console.log(JSON.stringify({ dryRun, creations, strayEntries, clearCommand }, null, 2));
  else {
    if (creations.length + strayEntries.length === 0) console.log("Nothing to recover.");
    for (const creation of creations)
      console.log(
        `Interrupted creation of ${titleOf(creation)}: ${STATUS[creation.status]}\n  ${creation.urn}`,
      );
    for (const entry of strayEntries) console.log(describeStrayEntry(entry, options));
    if (clearCommand !== null) console.log(`\n${CLEAR_AFTER_UP}\n  ${clearCommand}`);
  }
  return creations.some(({ status }) => ["not-resumable", "not-written"].includes(status)) ? 1 : 0;
}

const STATUS: Readonly<Record<EntryStatus, string>> = {
  written: "wrote a journal entry. The next `pulumi up` resumes the creation.",
  "would-write": "would write a journal entry, so that the next `pulumi up` resumes the creation.",
  present: "already has a journal entry. The next `pulumi up` resumes the creation.",
  waiting: "another creation of this resource comes first. Run `pulumi up`, then run `recover` again.",
  "not-resumable":
    "can't be resumed, because the state doesn't contain its key and all arguments. Check whether the service has the object before you " +
    "run `pulumi up`, which creates another one.",
  "not-written":
    "the journal entry can't be written. Fix this problem before you run `pulumi up`, which would otherwise create a second object.",
};

function describeStrayEntry({ urn, id, status }: StrayEntry, options: RecoverOptions): string {
  if (status === "object-in-state") {
    const object = id === undefined ? "an object" : `the object ${oneLine(id)}`;
    return `Journal entry for ${object}, which the stack manages. Keep the object.\n  ${urn}`;
  }
  const object = id === undefined ? "" : ` (object ${oneLine(id)})`;
  return [
    `Journal entry for a resource that isn't in the state${object}.`,
    `  ${urn}`,
    "  If your program still declares the resource, run `pulumi up`, which resumes the creation. Otherwise, delete the object in the",
    "  service if it exists, and remove the entry:",
    `  ${commandLineFor(["npx", "pulumi-cloudinfra", "recover", "--forget", urn], options)}`,
  ].join("\n");
}

/**
 * Removes the journal entries of a resource, and gives up its unfinished creations on this machine.
 *
 * @param openers open the journal of the stack's own backend, and the journal to which `recover --file` writes
 */
async function forget(
  openers: readonly OpenJournal[],
  deployment: Deployment,
  urn: string,
  options: RecoverOptions,
): Promise<number> {
  const { dryRun = false, json } = options;
  const endpoint = options.endpoint === undefined ? "" : normalized(options.endpoint, ENDPOINT_OPTION);
  const journals = openers.map((open) => open(endpoint));
  const removed = new Set<string>();
  for (const journal of journals) {
    const findEntries = async (): Promise<Entry[]> => {
      const all = await (options.endpoint === undefined ? journal.listEverywhere() : journal.list());
      return all.filter((entry) => entry.urn === urn);
    };
    for (const { key } of await findEntries()) {
      removed.add(key);
      if (!dryRun) await journal.remove(key);
    }
    if (!dryRun && (await findEntries()).length > 0) return 1; // the journal has printed why it can't be changed
  }
  const placeholders = deployment.resources.filter((one) => one.urn === urn && isPlaceholder(one.id ?? ""));
  const givenUp = new Set(placeholders.flatMap(({ keys }) => keys)); // each failed `up` may add a key
  const [journal] = journals;
  for (const key of dryRun ? [] : givenUp) {
    await journal?.mark(key, "given-up");
    if (!(await journal?.isMarked(key, "given-up"))) return 1; // see above
  }
  const [entries, abandoned] = [removed.size, givenUp.size];
  const isPending = deployment.pendingCreations.some((creation) => urnForNextUp(creation) === urn);
  if (entries + abandoned === 0 && !isPending) {
    const isNamed = organizationOf(deployment, options) !== undefined;
    throw new CloudInfraError("not_found", `no creation to forget for ${urn}`, {
      hint: isNamed ? FORGET_HINT : `${FORGET_HINT} ${ORGANIZATION_HINT}`,
    });
  }
  const clearCommand = isPending ? clearCommandFor(deployment, options) : null;
  if (json) {
    console.log(JSON.stringify({ dryRun, urn, entries, abandoned, clearCommand }, null, 2));
    return 0;
  }
  const what = entries === 1 ? "the journal entry" : `${entries} journal entries`;
  const headline = entries === 0 ? "No journal entry" : `${dryRun ? "Would remove" : "Removed"} ${what}`;
  console.log(`${headline} for ${urn}.`);
  if (abandoned > 0)
    console.log(
      `${dryRun ? "Would give up" : "Gave up"} the creation that the state records. This applies on this machine only.`,
    );
  const [first] = deployment.urns;
  if (first !== undefined && stackOf(first) !== stackOf(urn)) console.log(OTHER_STACK);
  console.log(
    "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service.",
  );
  if (clearCommand !== null) console.log(`\n${CLEAR_AFTER_FORGET}\n  ${clearCommand}`);
  return 0;
}

const FORGET_HINT = "Check the URN. `recover` without --forget prints the URNs of unfinished creations.";
const ORGANIZATION_HINT =
  "If the stack belongs to an organization, specify the stack as `--stack <organization>/<project>/<stack>`.";

const OTHER_STACK =
  "The URN belongs to a different stack, whose state was not read. If this stack still exists, run the command again with `--stack`.";

const CLEAR_AFTER_UP = `Pulumi keeps these creations in its list of pending operations, even after \`pulumi up\` has finished them. Clear the list after the next
successful \`pulumi up\`, or a later \`recover\` may find them again. If the list has creations of other packages, resolve those first.`;

const CLEAR_AFTER_FORGET = `Pulumi keeps the creation in its list of pending operations. Clear the list, or the next \`recover\` finds the creation again. If the list
has other creations, resolve those first.`;

/** Returns the command that clears Pulumi's list of pending operations. Its only target is the stack, so it refreshes no resources. */
function clearCommandFor({ urns }: Deployment, options: RecoverOptions): string {
  const stack = urns.find((urn) => urn.split("::")[2] === "pulumi:pulumi:Stack");
  const target = stack === undefined ? [] : ["--target", stack];
  const command = ["pulumi", "refresh", "--yes", "--skip-preview", "--clear-pending-creates", ...target];
  return commandLineFor(command, options);
}

/** Returns the journal folder of the next `up`. Without a usable configuration, the folder comes from the last `up`. */
function journalDirOf(
  { providers, defaultProvider }: Deployment,
  config: Configuration | undefined,
): string | undefined {
  const hasLostEndpoint =
    trimmed(defaultProvider?.setting("cloudinfra:endpoint")) !== undefined &&
    !config?.("cloudinfra:endpoint");
  const isUsable = config !== undefined && !hasLostEndpoint;
  const last = isUsable ? [] : [defaultProvider, ...providers];
  const ofLast = last.map((one) => one?.setting("cloudinfra:journalDir")).find(Boolean);
  return config?.("cloudinfra:journalDir") ?? ofLast ?? trimmed(process.env.CLOUDINFRA_JOURNAL_DIR);
}

/** Returns the normalized endpoint of a provider. The option `--endpoint` doesn't override the endpoint of an explicit provider. */
function endpointOf(provider: StackProvider | undefined, endpoint: string | undefined): string | undefined {
  const own = trimmed(provider?.setting("cloudinfra:endpoint"));
  const ofExplicit = provider?.isDefault ? undefined : own;
  const { CLOUDINFRA_ENDPOINT } = provider ? environmentOf(provider.setting, process.env) : process.env;
  const address = ofExplicit ?? endpoint ?? own ?? trimmed(CLOUDINFRA_ENDPOINT);
  return address && normalized(address, address === endpoint ? ENDPOINT_OPTION : undefined);
}

const ENDPOINT_OPTION = "the option --endpoint";

/** @throws CloudInfraError `config_invalid` if the address is not a URL */
function normalized(address: string, setting: string | undefined): string {
  // Plain HTTP is safe here, because `recover` sends no requests.
  return parseEndpoint(address, { allowHttp: true, setting }).base;
}

/** Returns the organization of the stack, from `--stack` or else from the state if the state contains exactly one. */
export function organizationOf(
  { resources, pendingCreations }: Deployment,
  { stack }: Pick<RecoverOptions, "stack">,
): string | undefined {
  const [named, ...rest] = stack?.split("/") ?? [];
  if (rest.length > 0) return named === "organization" ? undefined : named; // Pulumi's name for "none"
  const known = [...resources, ...pendingCreations].flatMap(({ inputs }) => inputs.organization ?? []);
  const [only, ...others] = new Set(known);
  return others.length === 0 ? only : undefined;
}

/** A journal entry that matches no interrupted creation in the state. */
interface StrayEntry {
  readonly urn: string;
  /** The id of the object, if it is known and not secret. */
  readonly id: string | undefined;
  readonly status: "object-in-state" | "resource-not-in-state";
}

/**
 * @param endpoints all endpoints that the stack uses. Another address in the state is a former address of the service, where an id
 * identifies the same object
 */
async function findStrayEntries(
  journal: Journal,
  { resources, urns }: Deployment,
  endpoints: ReadonlySet<string>,
): Promise<StrayEntry[]> {
  const own = comparableEndpoint(journal.endpoint);
  const others = [...endpoints].map(comparableEndpoint).filter((endpoint) => endpoint !== own);
  // An empty state doesn't contain the stack's name, so no journal entry can be matched.
  const stack = urns[0] && stackOf(urns[0]);
  const entries = (await journal.list()).filter(({ urn }) => stackOf(urn) === stack);
  return entries.flatMap((entry) => {
    const [urn, id] = [entry.urn, hasSecretName(entry) ? undefined : entry.id];
    // A different resource of the stack may have imported the object.
    const isManaged = resources.some(
      ({ id, type, endpoint = "" }) =>
        id !== undefined &&
        id === entry.id &&
        urn.split("::")[2]?.endsWith(type) &&
        !others.includes(comparableEndpoint(endpoint)),
    );
    if (isManaged) return { urn, id, status: "object-in-state" };
    return urns.includes(urn) ? [] : { urn, id, status: "resource-not-in-state" };
  });
}
