import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import type { Entry } from "../journal/entry";
import type { For } from "../journal/journal";
import { isTerminal } from "../operations/operation";
import { type Call, requireRecordedEndpoint, waitForEnd } from "./call";
import { idOfCreation, lookAt } from "./creation/being-made";
import { isOver, settle, settled, settleEntry, settleLeftOver } from "./creation/left-over";
import { isPlaceholder, type Pending, pendingOf, sentFields } from "./creation/pending";
import { warnOfLeftAlone, warnOfLost } from "./creation/unclear";
import type { Properties } from "./host";
import { identityOf, textOf } from "./identity";
import { askedFor } from "./inputs/secrets";
import { instanceKind, isUrnOf, projectKind } from "./kind";
import { isAdoptedAgain, isLive } from "./live";
import { removeObject } from "./removal";
import { idAfterRename } from "./updates/renamed";
import { hiddenOf } from "./values/state";

/**
 * Deletes a resource. An unfinished creation of it is brought to its end first; so are an interrupted replacement of it, and the
 * interrupted creations of a project's instances.
 */
export async function remove(call: Call, id: string, state: Properties): Promise<void> {
  const pending = isPlaceholder(id) ? pendingOf(state) : undefined;
  if (pending !== undefined && (await isOver(call, pending))) return;
  requireRecordedEndpoint(call, id, state);
  const { memory, journal } = call.session;
  const { __urn: urn, __key: key, __import: imported } = hiddenOf(state);
  // With `deleteBeforeReplace`, this comes before the create that deals with unfinished creations of the resource.
  const isHandedOver =
    memory.isHandedOver(key) || (key !== undefined && (await journal.run.hasOther({ replacing: key })));
  // The URN that the state records may be another resource's by now, whose creation is under way.
  const purpose = urn === undefined || key === undefined ? undefined : { urn, replaces: key };
  if (!isHandedOver && purpose !== undefined && (await isUnfinished(call, purpose)))
    await settleLeftOver(call, id, state, [purpose]);
  if (isPlaceholder(id)) {
    if (pending !== undefined && !pending.failed && !isHandedOver)
      await removePlaceholder(call, state, pending);
    return;
  }
  await requireNotAdoptedAgain(call, id, state);
  if (await isLive(call, id))
    await call.progress.tell(`${call.kind.name} ${id} stays: a resource of the program has it`);
  else await removeMade(call, id, state);
  // With the option `replaceWith`, nothing else tells create that the option `import` has done its work.
  if (urn !== undefined && imported !== undefined) memory.knows(urn, { importedBefore: imported });
  const entry = key === undefined ? undefined : await journal.find(key);
  if (entry?.id !== id) return;
  await journal.remove(entry.key);
  await settled(call, entry);
}

/** Whether an earlier run has begun a replacement: nothing is left to settle if this run has created it. */
async function isUnfinished(call: Call, purpose: For): Promise<boolean> {
  const { journal } = call.session;
  const entry = await journal.read(purpose);
  if (entry?.id === undefined || !(await isLive(call, entry.id))) return entry !== undefined;
  // If the engine saves the state only at the end of the command, the entry is all that a kill leaves of the replacement.
  if (!entry.isKept) await journal.remove(entry.key);
  return false;
}

/** Deletes an object that no other resource has. */
async function removeMade(call: Call, id: string, state: Properties): Promise<void> {
  const { __key: key, __import: imported } = hiddenOf(state);
  const late =
    call.kind === projectKind
      ? await call.progress.during("waiting for the deletion of the project's last instances", () =>
          settleInstancesOf(call, id, key),
        )
      : [];
  const made = await idAfterRename(call, await idOfCreation(call, id, state), state);
  const option = { isRetained: call.session.memory.isRetained(hiddenOf(state)) };
  await removeObject(call, made, state.project, option).catch(async (error: unknown) => {
    if (!isCloudInfraError(error) || error.code !== "conflict" || !(await hasEnded(call, state))) throw error;
    await removeObject(call, await idAfterRename(call, made, state), state.project, option);
  });
  for (const entry of late) await call.session.journal.remove(entry.key);
  if (imported === id) await call.session.journal.run.add({ gone: textOf(identityOf(call, id)) });
}

/** Waits for what an earlier run began, which the service may finish before it deletes the object. @returns whether it has ended */
async function hasEnded(call: Call, state: Properties): Promise<boolean> {
  const { operation } = pendingOf(state) ?? {};
  const seen = operation && (await lookAt(call, operation));
  if (seen === undefined) return false;
  if (!isTerminal(seen))
    await call.progress.during("waiting for what an earlier run began", () => waitForEnd(call, seen));
  return true;
}

async function removePlaceholder(call: Call, state: Properties, pending: Pending): Promise<void> {
  const { journal } = call.session;
  const { key } = pending;
  if (await isOver(call, pending)) return; // a create of this run may have settled it meanwhile (L3)
  await settle(call, state, { ...pending, isInState: true });
  const { __key: resource } = hiddenOf(state);
  const entry = resource === undefined ? undefined : await journal.find(resource);
  if (entry !== undefined && entry.key === key) await journal.remove(entry.key);
}

/**
 * The engine may ask for a replacement without telling create about it. Create has then adopted the same object again: because of the
 * `import` option, or because an interrupted program had left the entry of its creation.
 */
async function requireNotAdoptedAgain(call: Call, id: string, state: Properties): Promise<void> {
  if (!(await isAdoptedAgain(call, id, state))) return;
  throw new CloudInfraError(
    "import_differs",
    `${call.kind.name} ${id} was not replaced: it was adopted again`,
    {
      hint:
        "Nothing was changed. If the resource has the `import` option, remove it from the program, because it has done its work. " +
        "Run `pulumi up`, then replace the resource",
    },
  );
}

/**
 * Settles the journal entries for instances of the project: nothing else would ever find these instances (X2). Those of another stack have
 * no project with this key.
 *
 * @returns the entries that stay until the project is deleted: their objects may be in use, and a resource may still adopt them
 */
async function settleInstancesOf(call: Call, project: string, key: string | undefined): Promise<Entry[]> {
  const { journal, memory } = call.session;
  const late: Entry[] = [];
  const instances = { ...call, kind: instanceKind };
  for (const entry of await journal.list()) {
    const isOurs = key !== undefined && entry.projectKey === key;
    const isOfProject = isUrnOf(instanceKind, entry.urn) && sentFields(entry).project === project;
    if (!isOurs || !isOfProject) continue;
    call.known.push(askedFor(entry));
    if (entry.isLate && entry.id === undefined && entry.operation === undefined) {
      // Resending the request might create an object that nothing may delete.
      await warnOfLost(instances, entry);
      late.push(entry);
    } else if (entry.id === undefined) {
      const mayBeThere = await settleEntry(instances, { __urn: entry.urn, project }, entry);
      if (entry.isLate && mayBeThere) late.push(entry);
      else await journal.remove(entry.key);
    } else if (!memory.isGone(identityOf(instances, entry.id)) && !(await isLive(instances, entry.id)))
      await warnOfLeftAlone(instances, { id: entry.id, fields: {} });
  }
  return late;
}
