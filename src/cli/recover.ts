import path from "node:path";
import * as v from "valibot";
import { comparableEndpoint, parseEndpoint } from "../api/endpoint";
import type { Configuration } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { oneLine } from "../diagnostics/redact";
import { type Entry, hasSecretName } from "../journal/entry";
import { type Journal, type NewEntry, openJournal } from "../journal/journal";
import { projectFileFor, stackOf } from "../journal/location";
import { isValidKey, nextKey } from "../model/idempotency-key";
import { isPlaceholder, type Pending } from "../model/pending";
import { creationBody } from "../model/request-body";
import { projectKind } from "../model/resource-fields";
import { resourceName } from "../model/state";
import { commandLineFor, programFolder, stackSettings, type Target, trimmed } from "./pulumi";
import {
  type Deployment,
  type PendingCreation,
  type Resource,
  readExport,
  type StackProvider,
} from "./stack-export";

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
    ({ provider = "" }) => byProvider.get(provider) ?? ofDefault ?? missingEndpoint(),
  );
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
    const entries = async (): Promise<Entry[]> => {
      const all = await (options.endpoint === undefined ? journal.listEverywhere() : journal.list());
      return all.filter((entry) => entry.urn === urn);
    };
    for (const { key } of await entries()) {
      removed.add(key);
      if (!dryRun) await journal.remove(key);
    }
    if (!dryRun && (await entries()).length > 0) return 1; // the journal has printed a warning
  }
  const placeholders = deployment.resources.filter((one) => one.urn === urn && isPlaceholder(one.id ?? ""));
  const givenUp = new Set(placeholders.flatMap(({ keys }) => keys)); // each failed `up` may add a key
  const [journal] = journals;
  for (const key of dryRun ? [] : givenUp) {
    await journal?.mark(key, "given-up");
    if (!(await journal?.isMarked(key, "given-up"))) return 1;
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
  console.log(
    "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service.",
  );
  if (clearCommand !== null) console.log(`\n${CLEAR_AFTER_FORGET}\n  ${clearCommand}`);
  return 0;
}

const FORGET_HINT = "Check the URN. `recover` without --forget prints the URNs of unfinished creations.";
const ORGANIZATION_HINT =
  "If the stack belongs to an organization, specify the stack as `--stack <organization>/<project>/<stack>`.";

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
    defaultProvider?.setting("cloudinfra:endpoint") !== undefined && !config?.("cloudinfra:endpoint");
  const isUsable = config !== undefined && !hasLostEndpoint;
  const last = isUsable ? [] : [defaultProvider, ...providers];
  const ofLast = last.map((one) => one?.setting("cloudinfra:journalDir")).find(Boolean);
  return config?.("cloudinfra:journalDir") ?? ofLast ?? trimmed(process.env.CLOUDINFRA_JOURNAL_DIR);
}

/** Returns the normalized endpoint of a provider. The option `--endpoint` doesn't override the endpoint of an explicit provider. */
function endpointOf(provider: StackProvider | undefined, endpoint: string | undefined): string | undefined {
  const own = provider?.setting("cloudinfra:endpoint");
  const ofExplicit = provider?.isDefault ? undefined : own;
  const address = ofExplicit ?? endpoint ?? own ?? trimmed(process.env.CLOUDINFRA_ENDPOINT);
  return address && normalized(address, address === endpoint ? ENDPOINT_OPTION : undefined);
}

function missingEndpoint(): never {
  throw new CloudInfraError("config_missing", "the state doesn't contain the address of the service", {
    hint: "Specify the address with --endpoint, or set CLOUDINFRA_ENDPOINT.",
  });
}

const ENDPOINT_OPTION = "the option --endpoint";

/** @throws CloudInfraError `config_invalid` if the address is not a URL */
function normalized(address: string, setting: string | undefined): string {
  // Plain HTTP is safe here, because `recover` sends no requests.
  return parseEndpoint(address, { allowHttp: true, setting }).base;
}

/** The organization name that Pulumi uses in backends without organizations. */
const NO_ORGANIZATION = "organization";

/** Returns the organization of the stack, from `--stack` or else from the state if the state contains exactly one. */
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

/** An interrupted creation, if the state doesn't contain its outcome. */
export type InterruptedCreation = Readonly<ReturnType<typeof interruptedCreations>[number]>;

/** Returns the title of a creation for messages, such as `instance "web"`. */
function titleOf({ kind, name }: Pick<InterruptedCreation, "kind" | "name">): string {
  return `${kind} "${name}"`;
}

/**
 * Returns the pending creations that need a journal entry, the latest first. No entry is needed if the resource adopts an existing object,
 * or if the state already contains the key of the creation. The engine saves the key and the arguments before it calls the provider.
 */
export function interruptedCreations(deployment: Deployment) {
  const keysInState = new Set(deployment.resources.flatMap(({ keys }) => keys));
  const all = deployment.pendingCreations.map((creation) => {
    const replaced = replacedBy(creation, deployment);
    return { creation, replaced, resumed: resumedBy(creation, replaced) };
  });
  // If a resumed creation is interrupted again, Pulumi lists it twice. The older item comes last, and its arguments were sent with the key.
  const identity = ({ creation, resumed }: (typeof all)[number]): string =>
    JSON.stringify([creation.inputs.key ?? creation.urn, resumed?.key]);
  const distinct = [...new Map(all.map((one) => [identity(one), one])).values()];
  return distinct.flatMap(({ creation, replaced, resumed }) => {
    const isInState = resumed === undefined && keysInState.has(creation.inputs.key ?? "");
    if (isInState || adopts(creation, replaced)) return [];
    const urn = urnForNextUp(creation);
    return {
      kind: creation.kind.name,
      name: nameIn(creation.urn),
      /** The URN with which the next `up` looks up the creation. */
      urn,
      provider: creation.provider,
      entry: newEntry(creation, urn, {
        replaces: replaced?.keys[0],
        projectKey: projectKeyOf(creation, deployment),
        provider: deployment.providers.find(({ reference }) => reference === creation.provider)?.name,
        // Pulumi may still list a creation that has already finished, and the program may have released the object.
        ...(replaced === undefined && { isLate: true }),
        ...(resumed?.key !== undefined && { key: nextKey(resumed.key), at: resumed.at ?? UNKNOWN_TIME }),
      }),
    };
  });
}

/** Returns the titles of the unfinished creations that the next `up` resumes. */
export function unfinishedCreations(deployment: Deployment): string[] {
  const placeholders = deployment.resources.flatMap(({ kind, id = "", urn, unfinished }) =>
    kind === undefined || !isPlaceholder(id) || unfinished?.failed
      ? []
      : [titleOf({ kind: kind.name, name: nameIn(urn) })],
  );
  return [...new Set([...placeholders, ...interruptedCreations(deployment).map(titleOf)])];
}

const nameIn = (urn: string): string => resourceName(urn) ?? "";

/**
 * Returns the URN that the next `up` uses. `pulumi stack rename` changes the URN in the state but not in the inputs, so the stack and the
 * project come from the state. The other parts come from the inputs, because the two URNs differ if the name of a parent contains "::".
 */
function urnForNextUp({ urn, inputs }: PendingCreation): string {
  if (!inputs.urn?.startsWith("urn:pulumi:")) return urn;
  return [...urn.split("::").slice(0, 2), ...inputs.urn.split("::").slice(2)].join("::");
}

/** Finds the resource that a creation replaces, by its current URN or a former URN. */
function replacedBy(creation: PendingCreation, { resources }: Deployment): Resource | undefined {
  const urns = [creation.urn, ...creation.aliases];
  return resources.find(
    ({ urn, created, pendingReplacement }) =>
      urns.includes(urn) && (pendingReplacement || (created !== undefined && created === creation.created)),
  );
}

/** Reports whether a creation adopts the object in the `import` option. A later replacement of the resource creates a new object. */
function adopts({ inputs: { importId } }: PendingCreation, replaced: Resource | undefined): boolean {
  return importId !== undefined && ![replaced?.id, replaced?.inputs.importId].includes(importId);
}

/** Returns the record of the creation that a pending creation has resumed. If the resumed attempt failed, the next key may be in use. */
function resumedBy(
  { inputs: { key } }: PendingCreation,
  replaced: Resource | undefined,
): Pending | undefined {
  if (key === undefined || !isPlaceholder(replaced?.id ?? "") || !replaced?.keys.includes(key))
    return undefined;
  return replaced.unfinished?.failed ? undefined : replaced.unfinished;
}

/**
 * Returns the key of the resource of an instance's project. The project may have another provider, for example because of its `version`
 * option. With several projects that have the same id, the one with the same provider counts.
 */
function projectKeyOf({ provider, inputs }: PendingCreation, { resources }: Deployment): string | undefined {
  const projects = resources.filter(({ kind, id }) => kind === projectKind && id === inputs.project);
  const project = projects.find((one) => one.provider === provider) ?? projects[0];
  return project?.keys[0];
}

/** The time for creations whose start is unknown. The key is then treated as expired, so the next `up` sends no request. */
const UNKNOWN_TIME = 0;

/** Returns the journal entry of a creation, or `undefined` if the state lacks the key or an argument. */
function newEntry(
  { kind, inputs }: PendingCreation,
  urn: string,
  more: Partial<NewEntry>,
): NewEntry | undefined {
  const { key, keyAt: at = UNKNOWN_TIME, secrets, isAutonamed } = inputs;
  if (!isValidKey(key) || !v.is(kind.arguments, inputs.given)) return undefined;
  const body = creationBody(kind.fields, inputs);
  return { urn, key, resource: key, body, secrets, isAutonamed, at, ...more, recovered: true };
}

/** The status of a journal entry, as in docs/recovery.md. Existing entries are kept, because they may contain more details. */
type EntryStatus = "written" | "would-write" | "present" | "waiting" | "not-resumable" | "not-written";

type RecoveredCreation = Awaited<ReturnType<typeof writeEntries>>[number];

export async function writeEntries(
  journal: Journal,
  creations: readonly InterruptedCreation[],
  { dryRun = false }: { readonly dryRun?: boolean },
) {
  /** The key of each creation by its purpose. A resource can have two entries, one for its creation and one for its replacement. */
  const keys = new Map<string, string>();
  const write = async (entry: NewEntry): Promise<EntryStatus> => {
    if (!dryRun) await moveRenamedEntry(journal, entry);
    const purpose = JSON.stringify([entry.urn, entry.replaces]);
    // A dry run doesn't write entries to the journal.
    const known = keys.get(purpose) ?? (await journal.read(entry))?.key;
    keys.set(purpose, known ?? entry.key);
    if (known !== undefined) return known === entry.key ? "present" : "waiting";
    if (dryRun) return "would-write";
    await journal.begin(entry);
    return (await journal.read(entry))?.key === entry.key ? "written" : "not-written";
  };
  const recovered = [];
  for (const { kind, name, urn, entry } of creations) {
    if (entry !== undefined && (await journal.isMarked(entry.key, "given-up"))) continue;
    recovered.push({ kind, name, urn, status: entry === undefined ? "not-resumable" : await write(entry) });
  }
  return recovered;
}

/** Moves a journal entry to the current stack name and endpoint. `pulumi stack rename` and `--endpoint` change them. */
async function moveRenamedEntry(journal: Journal, { urn, key, resource }: NewEntry): Promise<void> {
  const withinStack = (urn: string): string => urn.slice(stackOf(urn).length);
  const entry = await journal.find(resource);
  if (entry?.key !== key || withinStack(entry.urn) !== withinStack(urn)) return;
  const isInPlace =
    entry.endpoint === journal.endpoint && (entry.urn === urn || entry.replaces !== undefined);
  if (!isInPlace) await journal.move(entry, { urn, replaces: entry.replaces });
}

/** A journal entry that matches no interrupted creation in the state. */
interface StrayEntry {
  readonly urn: string;
  /** The id of the object, if it is known and not secret. */
  readonly id: string | undefined;
  readonly status: "object-in-state" | "resource-not-in-state";
}

/** @param endpoints all endpoints that the stack uses. The state may also contain former addresses of the service */
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
