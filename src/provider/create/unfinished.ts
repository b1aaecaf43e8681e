import type { ApiObject } from "../../api/client";
import { type CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import type { Entry } from "../../journal/entry";
import type { CreationPurpose } from "../../journal/journal";
import { nextKey } from "../../model/idempotency-key";
import { isPlaceholder, type Pending, placeholderId, sentFields } from "../../model/pending";
import { requestedArguments } from "../../model/secrets";
import { type Desired, desired, type Recorded } from "../../model/state";
import { addSecretSource, type Context, requireRecordedEndpoint } from "../context";
import { removeObject } from "../delete/confirmed-deletion";
import { isLive } from "../object-ownership";
import {
  firstFix,
  giveUpHint,
  isInvisible,
  neverEndsHint,
  PartialState,
  RELEASE_CREATION,
} from "../partial-state";
import type { TrackedResource } from "../resource-tracker";
import { warnOfObjectLeftAlone, warnOfPossibleObjects } from "../warnings";
import { type CreationEnd, findLeft, runCreation } from "./run";

/** An unfinished creation of an earlier run, with the facts that determine whether its object may be deleted. See `Entry`. */
export interface UnfinishedCreation extends Pending, Partial<Pick<Entry, "id" | "replaces">> {
  /** Whether the state of this stack records the creation. */
  readonly isInState: boolean;
}

/** @param keyAt the time at which the key in the state was generated. An older creation may belong to a former resource with the URN */
export function unfinishedFromEntry(entry: Entry, keyAt = 0): UnfinishedCreation {
  const isLate = entry.isLate === true || (entry.replaces === undefined && entry.at < keyAt);
  return { ...entry, isInState: false, isLate };
}

/** Returns the possible purposes of a creation for an existing resource. After a taint, it isn't recorded as a replacement. */
export function possiblePurposes(urn: string, key: string | undefined): CreationPurpose[] {
  return [...(key === undefined ? [] : [{ urn, replaces: key }]), { urn }];
}

/**
 * Reports whether the state certainly contains the creation, or the creation of which it is a possible retry. Ids alone aren't sufficient,
 * because a replacement may have the same id.
 */
export function isRecordedInState(entry: Entry, seen: TrackedResource): boolean {
  const { key, resource, replaces, id, operation } = entry;
  // Without a diff, create doesn't know the creation in the state, and resumes the retry.
  if (isPossibleRetry(entry) && resource === seen.key && seen.id !== undefined) return true;
  const isLater = replaces === undefined && seen.keyAt !== undefined && entry.at > seen.keyAt;
  const replacesIt = replaces !== undefined && replaces === seen.key;
  const isReplacement = resource !== seen.key && (isLater || replacesIt);
  return [
    [key, seen.key],
    [isReplacement ? undefined : id, seen.id],
    [operation?.id, seen.operation],
  ].some(([one, other]) => one !== undefined && one === other);
}

/**
 * Reports whether the object of an unfinished creation may be deleted (I3): the state records the creation, or the engine hasn't saved the
 * object, because create didn't return it or the state still contains the replaced object.
 */
export function mayDelete(context: Context, { isInState, id, replaces, isLate }: UnfinishedCreation) {
  const { tracker } = context.session;
  return !isLate && (isInState || id === undefined || tracker.holderOf(replaces) !== undefined);
}

/**
 * Returns the unfinished creation of a resource that is about to be created, from the state or the journal. If the state and the journal
 * contain different creations, create resumes the later creation. The earlier creation is finished and discarded (C1).
 */
export async function findUnfinishedCreation(
  context: Context,
  inputs: Desired,
): Promise<UnfinishedCreation | undefined> {
  const { session } = context;
  const { urn } = inputs;
  if (urn === undefined) return undefined;
  const seen = session.tracker.get(urn);
  const { placeholder: saved, placeholderAt, resumes = { urn, replaces: seen.key } } = seen;
  const isOpen = saved !== undefined && !(await isFinishedOrGivenUp(context, saved));
  const placeholder = isOpen
    ? { ...(await withJournal(context, saved, seen.key)), isInState: true }
    : undefined;
  if (placeholder !== undefined)
    requireRecordedEndpoint(context, placeholderId(placeholder), { endpoint: placeholderAt });
  const isFormer = resumes.urn !== urn;
  if (isFormer) {
    // A new resource may use the former URN.
    await session.journal.move(resumes, { urn });
    session.tracker.extend(urn, { resumes: { urn } });
  }
  const entry = await session.journal.read(isFormer ? { urn } : resumes);
  if (entry === undefined || isRecordedInState(entry, seen) || session.tracker.claim(entry.key, urn) !== urn)
    return placeholder;
  // With an error hook, the engine repeats a failed create without saving its object (I3).
  const mayBeSaved = entry.key !== seen.unsaved;
  if (placeholder === undefined)
    return { ...unfinishedFromEntry(entry, seen.keyAt), id: mayBeSaved ? entry.id : undefined };
  if (placeholder.key === entry.key) return placeholder;
  const unfinished = unfinishedFromEntry(entry, seen.keyAt);
  const isLater = entry.at >= (placeholder.at ?? 0);
  await finishAndDiscard(context, inputs, isLater ? placeholder : unfinished);
  if (isLater) return unfinished;
  await session.journal.remove(entry.key);
  return placeholder;
}

/** Adds what happened since the state was saved: the operation and the object of a resumption, and the objects that others imported. */
export async function withJournal({ session }: Context, pending: Pending, resource: string | undefined) {
  const own = resource === undefined ? undefined : await session.journal.find(resource);
  if (own?.key !== pending.key) return pending;
  const { operation = own?.operation, imported } = pending;
  return { ...pending, id: own?.id, operation, imported: own?.imported ?? imported };
}

/** Removes the journal entry of an object that no longer exists, and returns the entry. The state may already have recorded the object. */
export async function removeEntryOf({ session: { journal } }: Context, key: string | undefined, id: string) {
  const entry = key === undefined ? undefined : await journal.find(key);
  if (entry?.id !== id) return undefined;
  await journal.remove(entry.key);
  return entry;
}

/**
 * Reports whether `recover` has written the entry for a retry of a creation in the state. The entry replaces its own resource. It is unknown
 * whether the retry was sent.
 */
function isPossibleRetry({ recovered = false, resource, replaces }: Entry): boolean {
  return recovered && resource === replaces;
}

/** Returns the possible retry of a creation in the state. The retry was sent only if the creation has failed or its object was discarded. */
export async function findPossibleRetry({ session }: Context, purpose: CreationPurpose, first: Pending) {
  const entry = await session.journal.read(purpose);
  if (entry === undefined || !isPossibleRetry(entry) || first.key === undefined) return undefined;
  return entry.key === nextKey(first.key) ? unfinishedFromEntry(entry) : undefined;
}

/**
 * Finishes and discards the unfinished creations of an existing resource. Only a call that has the resource's current URN may pass a
 * purpose with this URN.
 */
export async function finishUnfinishedCreations(
  context: Context,
  id: string,
  state: Recorded,
  purposes: readonly CreationPurpose[],
): Promise<void> {
  const { journal } = context.session;
  const { key, keyAt } = state;
  for (const purpose of purposes) {
    const entry = await journal.read(purpose);
    const seen = { key, keyAt, id, operation: state.pending?.operation?.id };
    if (entry === undefined) continue;
    if (isRecordedInState(entry, seen)) {
      // If a creation has an object, its retry wasn't sent, or the object is the result of the retry.
      if (isPossibleRetry(entry) && !isPlaceholder(id)) await journal.remove(entry.key);
      continue;
    }
    if (context.session.tracker.claim(entry.key, purpose.urn) !== purpose.urn) continue;
    if (await isResumedElsewhere(context, entry.resource)) continue;
    const inputs = desired({ urn: purpose.urn, project: state.project });
    await finishAndDiscard(context, inputs, unfinishedFromEntry(entry, keyAt));
    await journal.remove(entry.key);
  }
}

/**
 * Finishes an unfinished creation that is no longer needed. Waits for the creation or resends its request. The object is deleted only if
 * rule I3 allows the deletion. Otherwise, the request isn't resent, and a warning is printed. Never throws a PartialState, because the call
 * is for a different resource.
 *
 * @param mayBeLost whether to warn instead of failing if the outcome can't be determined
 * @returns the result of the creation, or `undefined` if the result is unknown
 */
export async function finishAndDiscard(
  context: Context,
  inputs: Desired,
  unfinished: UnfinishedCreation,
  { mayBeLost = unfinished.isLate === true } = {},
): Promise<CreationEnd | undefined> {
  const { isLate = false, id, operation } = unfinished;
  let leftId: string | undefined;
  addSecretSource(context, requestedArguments(unfinished, inputs.secrets));
  try {
    if (!isLate || id !== undefined || operation !== undefined)
      return await context.progress.during("cleaning up an interrupted creation", () =>
        runAndDiscard(context, inputs, unfinished),
      );
  } catch (error) {
    if (!mayBeLost || !isCloudInfraError(error)) throw error;
    leftId = invisibleObjectId(context, unfinished, error);
    if (leftId === undefined && error.code !== "key_expired") throw error;
  }
  if (leftId === undefined) await warnOfPossibleObjects(context, unfinished);
  else await warnOfObjectLeftAlone(context, { id: leftId, fields: {} });
  await markFinished(context, unfinished); // so that it is reported only once in this run
  return undefined;
}

/** Returns the id of the object of an unfinished creation if the object isn't visible and may not be deleted anyway (I3). */
export function invisibleObjectId(context: Context, unfinished: UnfinishedCreation, error: CloudInfraError) {
  const { resultId: id = unfinished.id } = error;
  return isInvisible(error) && !mayDelete(context, unfinished) ? id : undefined;
}

const LONGER_CALL =
  ". To wait longer, increase the timeout in the resource's `customTimeouts` or, if there is none, `cloudinfra:operationTimeout`";

async function runAndDiscard(context: Context, inputs: Desired, unfinished: UnfinishedCreation) {
  const end = await runCreation(context, inputs, unfinished, true).catch(
    async (error: unknown): Promise<CreationEnd> => {
      if (!(error instanceof PartialState)) throw error;
      const { why } = error;
      // The timeout may be too short to wait for the list, but a deletion doesn't depend on the list.
      const { code, resultId: id } = why;
      if (code === "timeout" && id !== undefined)
        return {
          kind: "failed",
          error: why,
          object: (await findLeft(context, id, unfinished)) ?? { id, fields: {} },
        };
      const longer = why.code === "operation_timeout" ? LONGER_CALL : "";
      const hint =
        `${firstFix(why, context.session.settings.provider)}Run the command again to finish an interrupted creation whose object is no longer ` +
        `needed${longer}${neverEndsHint(why, RELEASE_CREATION)}${giveUpHint(why)}`;
      throw withDetails(why, { hint });
    },
  );
  if ("object" in end && end.object !== undefined) await discard(context, inputs, end.object, unfinished);
  await markFinished(context, unfinished);
  return end;
}

/** Deletes the object of a creation that is no longer needed, or prints a warning if I3 or the option `retainOnDelete` prevents that. */
export async function discard(
  context: Context,
  inputs: Desired,
  object: ApiObject,
  unfinished: UnfinishedCreation,
): Promise<void> {
  if (unfinished.imported?.includes(object.id)) return giveUp(context, unfinished);
  const isRetained = context.session.tracker.isRetained(inputs);
  if (!isRetained && mayDelete(context, unfinished)) await removeDiscarded(context, object, unfinished);
  else if (!(await isLive(context, object.id))) await warnOfObjectLeftAlone(context, object, { isRetained });
}

/** Records that the object of a creation belongs to another resource. A later run may delete the placeholder without the creation's entry. */
export async function giveUp({ session }: Context, { key }: Pending): Promise<void> {
  if (key !== undefined) await session.journal.mark(key, "given-up");
}

/** Deletes the object of a creation. If the deletion is interrupted, the record of it prevents a later run from adopting the object. */
async function removeDiscarded(context: Context, { id, fields }: ApiObject, unfinished: Pending) {
  const { journal } = context.session;
  const { key } = unfinished;
  const { name, project } = sentFields(unfinished);
  const remove = (): Promise<void> =>
    removeObject(context, id, project, { state: { createdAt: fields.created_at, name } });
  if (key === undefined) return remove(); // the record of the creation is damaged
  const isStarted = await journal.isMarked(key, "discarded");
  await journal.mark(key, "discarded");
  try {
    await remove();
  } catch (error) {
    // The service has certainly not started the deletion.
    const isRejected =
      isCloudInfraError(error) &&
      (error.code === "unsupported" || (error.method === "DELETE" && !error.sent && !isStarted));
    if (isRejected) await journal.unmark(key, "discarded");
    throw error;
  }
  await journal.unmark(key, "discarded");
}

/**
 * Records that this process resumes or discards the unfinished creation of a resource. Returns whether another process has recorded the
 * same, for example for an alias. Each process records before it checks, so at least one of them finds the other's record.
 */
export async function isResumedElsewhere({ session }: Context, resource: string): Promise<boolean> {
  await session.journal.run.add({ resuming: resource });
  return session.journal.run.hasOther({ resuming: resource });
}

/** Reports whether an unfinished creation was finished in this run, or given up by the user. */
export async function isFinishedOrGivenUp(context: Context, { key }: Pending): Promise<boolean> {
  if (key === undefined) return false;
  const { journal } = context.session;
  return (await journal.run.has({ finished: key })) || journal.isMarked(key, "given-up");
}

export async function markFinished({ session }: Context, { key }: Pending): Promise<void> {
  if (key !== undefined) await session.journal.run.add({ finished: key });
}
