import { CloudInfraError, isCloudInfraError, withDetails } from "../diagnostics/error";
import { longerDeletionHint, RELEASE_OBJECT } from "../diagnostics/hints";
import type { Entry } from "../journal/entry";
import type { CreationPurpose } from "../journal/journal";
import { isPlaceholder, type Pending, sentFields } from "../model/pending";
import { identityKey, instanceKind, isUrnOf, projectKind } from "../model/resource-fields";
import { requestedArguments } from "../model/secrets";
import { desired, hiddenInputsOf, type Recorded } from "../model/state";
import { isSuccess, isTerminal, type Operation } from "../polling/wait";
import { waitUntilListed } from "./absence";
import {
  addSecretSource,
  argumentsOf,
  type Context,
  fetchOperation,
  identityOf,
  objectRefOf,
  requireRecordedEndpoint,
  waitForOperationEnd,
} from "./context";
import {
  findPossibleRetry,
  finishAndDiscard,
  finishUnfinishedCreations,
  isFinishedOrGivenUp,
  markFinished,
  removeEntryOf,
  unfinishedFromEntry,
  withJournal,
} from "./create/unfinished";
import { isRejectedDeletion, removeObject } from "./delete/confirmed-deletion";
import { isDenied } from "./lookup/object-getter";
import { isAdoptedAgain, isLive } from "./object-ownership";
import { neverEndsHint } from "./partial-state";
import { confirmCreatedOrThrow } from "./reused-ids";
import { idAfterRename } from "./update/changed-id";
import { hintForMissing, warnOfObjectLeftAlone } from "./warnings";

/** Deletes a resource. Before that, finishes its unfinished creations and, for a project, the unfinished creations of its instances. */
export async function deleteResource(context: Context, id: string, state: Recorded): Promise<void> {
  const pending = isPlaceholder(id) ? state.pending : undefined;
  if (pending !== undefined && (await isFinishedOrGivenUp(context, pending))) return;
  requireRecordedEndpoint(context, id, state);
  const { tracker, journal } = context.session;
  const { urn, key, importId: imported } = state;
  // With `deleteBeforeReplace`, the engine calls delete before the `create` call that handles the unfinished creations of the resource.
  const isHandedOver = key !== undefined && (await journal.run.has({ replacing: key }));
  // Another resource may now have the recorded URN, and the creation of that resource may be in progress.
  const purpose = urn === undefined || key === undefined ? undefined : { urn, replaces: key };
  if (!isHandedOver && purpose !== undefined && (await isUnfinished(context, purpose)))
    await finishUnfinishedCreations(context, id, state, [purpose]);
  if (isPlaceholder(id)) {
    // A creation is finished if its resource manages or managed an object in this run.
    const isFinished = tracker.hasLiveObject(key) || tracker.isDeletedResource(key);
    if (pending === undefined || pending.failed || isHandedOver || isFinished) return;
    if (await isFinishedOrGivenUp(context, pending)) return; // a create of this run may have finished it in the meantime (L3)
    const inputs = desired({ ...argumentsOf(context, state), ...hiddenInputsOf(state) });
    const end = await finishAndDiscard(context, inputs, {
      ...(await withJournal(context, pending, key)),
      isInState: true,
    });
    const retry = purpose && (await findPossibleRetry(context, purpose, pending));
    // Only an object of the creation proves that the retry wasn't sent.
    if (retry !== undefined && end?.kind !== "created") await finishAndDiscard(context, inputs, retry);
    await journal.remove(retry?.key);
    return journal.remove(pending.key);
  }
  if (await isAdoptedAgain(context, id, state)) throw adoptedAgain(context, id);
  if (await isLive(context, id))
    await context.progress.showMessage(
      `kept ${context.kind.name} ${id}: another resource in the program uses it`,
    );
  else await deleteObject(context, id, state);
  tracker.recordDeletedResource(key);
  // With the option `replaceWith`, create can't otherwise detect that the object was imported before.
  if (urn !== undefined && imported !== undefined) tracker.extend(urn, { importedBefore: imported });
  const entry = await removeEntryOf(context, key, id);
  if (entry !== undefined) await markFinished(context, entry);
}

/** Reports whether an earlier run has left an unfinished replacement. A replacement that this run has created is finished. */
async function isUnfinished(context: Context, purpose: CreationPurpose): Promise<boolean> {
  const { journal, tracker } = context.session;
  const entry = await journal.read(purpose);
  if (entry === undefined) return false;
  // Without a program, it is unknown whether the state contains the object. If the state contains the object, its deletion removes the
  // entry. Otherwise, a warning at the end of the run mentions the object.
  if (entry.id !== undefined && tracker.holderOf(purpose.replaces) === undefined) return false;
  if (entry.id === undefined || !(await isLive(context, entry.id))) return true;
  // If the engine saves the state only at the end, only the entry would record the replacement after the process was killed.
  if (!entry.isKept) await journal.remove(entry.key);
  return false;
}

async function deleteObject(context: Context, id: string, state: Recorded): Promise<void> {
  const { key, importId: imported } = state;
  const late =
    context.kind === projectKind
      ? await context.progress.during("cleaning up unfinished instances", () =>
          finishInstancesOf(context, id, key),
        )
      : [];
  const known = await createdObjectId(context, id, state);
  if (known === undefined) return;
  const created = await idAfterRename(context, known, state);
  const option = { isRetained: context.session.tracker.isRetained(state), state };
  await removeObject(context, created, state.project, option).catch(async (error: unknown) => {
    if (!isRejectedDeletion(error) || !(await hasEnded(context, state))) throw error;
    await removeObject(context, await idAfterRename(context, created, state), state.project, option);
  });
  for (const entry of late) await context.session.journal.remove(entry.key);
  if (imported === id) await context.session.journal.run.add({ gone: identityKey(identityOf(context, id)) });
}

/** Waits for an operation of an earlier run, because the operation may prevent the deletion. @returns whether the operation has ended */
async function hasEnded(context: Context, state: Recorded): Promise<boolean> {
  const { operation } = state.pending ?? {};
  const seen = operation && (await fetchOperation(context, operation));
  if (seen === undefined) return false;
  if (!isTerminal(seen)) await waitForEarlier(context, "the operation of an earlier run", seen, state);
  return true;
}

/** Waits for an operation that must end before the deletion is requested. @param what the purpose of the wait, for messages */
function waitForEarlier(context: Context, what: string, operation: Operation, state: Recorded) {
  const wait = context.progress.during(`waiting for ${what}`, () => waitForOperationEnd(context, operation));
  return wait.catch((error: unknown) => {
    if (!isCloudInfraError(error) || error.code !== "operation_timeout") throw error;
    const { timeouts } = context.session.tracker.withCurrentValues(state);
    const hint =
      `The deletion has not started. Run the command again to keep waiting for ${what}. ` +
      `${longerDeletionHint(timeouts?.delete !== undefined)}${neverEndsHint(error, RELEASE_OBJECT)}`;
    throw withDetails(error, { hint });
  });
}

/** Returns the error for an object of an import or a resumed creation. The engine may replace a resource without informing create. */
function adoptedAgain({ kind }: Context, id: string): CloudInfraError {
  const message = `${kind.name} ${id} was not replaced, because it was adopted again`;
  const hint =
    "If the resource has the `import` option, remove this option, because the object is already imported. " +
    "Run `pulumi up`, then replace the resource";
  return new CloudInfraError("import_differs", message, { hint });
}

/**
 * Finishes the unfinished creations of a project's instances, because the instances can't be found after the deletion of the project (X2).
 * Returns the entries to keep until then, because their objects may be in use.
 */
async function finishInstancesOf(context: Context, project: string, key: string | undefined) {
  const { journal, tracker, settings } = context.session;
  const late: Entry[] = [];
  const instances = { ...context, kind: instanceKind };
  for (const entry of await journal.list()) {
    const isOurs = key !== undefined && entry.projectKey === key;
    const isOfProject = isUrnOf(instanceKind, entry.urn) && sentFields(entry).project === project;
    if (!isOurs || !isOfProject) continue;
    addSecretSource(context, requestedArguments(entry));
    if (entry.id === undefined) {
      const inputs = desired({ urn: entry.urn, project });
      // Another provider may have started the creation. Its key may belong to its token, so only a visible operation can be finished.
      const isOthers = entry.provider !== settings.provider && entry.operation !== undefined;
      const seen = isOthers && (await fetchOperation(instances, entry.operation).catch(ignoreDenial));
      const { provider } = seen ? settings : entry;
      const end = await finishAndDiscard(instances, inputs, unfinishedFromEntry({ ...entry, provider }));
      if (entry.isLate && (end === undefined || "object" in end)) late.push(entry);
      else await journal.remove(entry.key);
    } else if (!tracker.wasDeleted(identityOf(instances, entry.id)) && !(await isLive(instances, entry.id)))
      await warnOfObjectLeftAlone(instances, { id: entry.id, fields: {} });
  }
  return late;
}

function ignoreDenial(error: unknown): undefined {
  if (!isCloudInfraError(error) || !isDenied(error)) throw error;
}

/**
 * Returns the id of the object of an unfinished creation, or `undefined` if the id now belongs to a different object. A running operation
 * may contain a different id than the finished operation, so this function waits for the creation to end if necessary.
 */
async function createdObjectId(context: Context, id: string, state: Recorded): Promise<string | undefined> {
  const { pending } = state;
  const { client, finder } = context.session;
  if (pending?.key === undefined || (pending.operation === undefined && !pending.failed)) return id;
  const find = (one: string) => finder.find(objectRefOf(context.kind, one, state), context);
  const polled = pending.operation && (await fetchOperation(context, pending.operation));
  // The service may have reused the id of the operation of a failed creation.
  const seen = pending.failed && polled !== undefined && !isTerminal(polled) ? undefined : polled;
  if (seen !== undefined && !isTerminal(seen) && "found" in (await find(id))) return id;
  const end =
    seen === undefined || isTerminal(seen)
      ? seen
      : await waitForEarlier(context, "the creation to finish", seen, state);
  const reported = (pending.failed ? undefined : end && client.resultId(end)) ?? id;
  const result = await find(reported);
  // The record of the operation may be damaged.
  const recorded = "missing" in result && reported !== id ? await find(id) : result;
  const [created, first] = "found" in recorded ? [recorded.found.id, recorded] : [reported, result];
  const isLost = seen === undefined && !pending.failed;
  const ref = objectRefOf(context.kind, created, state);
  // Reads may not return a new object at once. They would then confirm its deletion too early.
  const hasJustEnded = end !== seen && end !== undefined && isSuccess(end);
  const late =
    hasJustEnded && "missing" in first && !first.isDeleted ? await waitUntilListed(context, ref) : undefined;
  const last = isLost ? await finder.findAgain(ref, first, context) : late ? { found: late } : first;
  // For a project, the deletion itself requires more evidence than its absence.
  if ("missing" in last && isLost && !last.isDeleted && context.kind !== projectKind)
    throw await creationUnclear(context, created, pending);
  if ("missing" in last) return created;
  const match = await confirmCreatedOrThrow(context, last.found, pending, end, state.key);
  return match === "different" ? undefined : created;
}

/** Returns the error for an object that isn't found while the outcome of its creation is unknown, because it may still appear (E2). */
async function creationUnclear(context: Context, id: string, pending: Pending): Promise<CloudInfraError> {
  const { name } = context.kind;
  const message =
    `the service no longer reports operation ${pending.operation?.id} of an unfinished creation, and doesn't return ${name} ${id}, ` +
    "which may still appear";
  const hint = `${await hintForMissing(context, id, pending)}. Otherwise, run the command again`;
  return new CloudInfraError("operation_unknown", message, { hint });
}
