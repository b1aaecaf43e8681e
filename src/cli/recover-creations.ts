import * as v from "valibot";
import type { Journal, NewEntry } from "../journal/journal";
import { stackOf } from "../journal/location";
import { isValidKey, nextKey } from "../model/idempotency-key";
import { isPlaceholder, type Pending } from "../model/pending";
import { creationBody } from "../model/request-body";
import { projectKind } from "../model/resource-fields";
import { resourceName } from "../model/state";
import type { Deployment, PendingCreation, Resource } from "./stack-export";

/** An interrupted creation, if the state doesn't contain its outcome. */
export type InterruptedCreation = Readonly<ReturnType<typeof interruptedCreations>[number]>;

/** Returns the title of a creation for messages, such as `instance "web"`. */
export function titleOf({ kind, name }: Pick<InterruptedCreation, "kind" | "name">): string {
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
export function urnForNextUp({ urn, inputs }: PendingCreation): string {
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
export type EntryStatus = "written" | "would-write" | "present" | "waiting" | "not-resumable" | "not-written";

export type RecoveredCreation = Awaited<ReturnType<typeof writeEntries>>[number];

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
