import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Entry } from "../../journal/entry";
import { identityKey, isUrnOf, type Kind } from "../../model/kinds";
import { initialOutputs } from "../../model/outputs";
import type { Desired, Recorded } from "../../model/state";
import { isTerminal } from "../../polling/operation";
import { argumentsOf, type Context, fetchOperation, identityOf } from "../context";
import { alreadyManaged, claimForImport, isLiveElsewhere, markLive } from "../live-objects";
import { PartialState } from "../partial-state";
import { applyUpdate, NotApplied } from "../update/apply";
import { compareForImport, importDiffers } from "./import-comparison";
import {
  findUnfinishedCreation,
  finishAndDiscard,
  markFinished,
  type UnfinishedCreation,
} from "./unfinished";

/**
 * Returns the id of the object to adopt because of the `import` option. Undefined if the resource had the object before: its replacement
 * creates another one.
 *
 * @throws CloudInfraError `not_found` if this run has deleted the object as another resource's
 */
export async function idToAdopt(context: Context, inputs: Desired): Promise<string | undefined> {
  const { tracker, journal } = context.session;
  const { importId: id, urn } = inputs;
  if (id === undefined) return undefined;
  const object = identityOf(context, id);
  // An error hook makes the engine repeat a create that has failed after the adoption.
  const live = tracker.liveOwner(object);
  const isRepeated = live?.urn === urn && live?.adoptedFor !== undefined;
  if (!isRepeated && tracker.hasImported(urn, id)) return undefined;
  if (await journal.run.has({ gone: identityKey(object) })) return undefined;
  if (tracker.wasDeleted(object)) throw deletedInThisRun(context.kind, id);
  return id;
}

/** The error about an object that was that of an unfinished creation which no longer fitted, for example. */
function deletedInThisRun({ name }: Kind, id: string): CloudInfraError {
  return new CloudInfraError(
    "not_found",
    `${name} ${id} was deleted in this run, before it could be imported`,
    {
      hint: `Correct the \`import\` option, or remove it: \`pulumi up\` then creates another ${name}`,
    },
  );
}

/**
 * Takes over an object that exists, in place of making one: the host can't import. It is compared with the program first;
 * what can be changed in place is, on condition of its revision.
 *
 * @throws CloudInfraError `not_found` where the service does not show it; `import_differs` where it could only be made what the
 * program asks for by replacing it. Nothing was changed then
 */
export async function adopt(
  context: Context,
  inputs: Desired,
  id: string,
): Promise<{ id: string; outs: Recorded }> {
  await requireUnmanaged(context, inputs, id);
  const before = await compareForImport(context, inputs, id);
  const left = await findUnfinishedCreation(context, inputs);
  await requireUnmanaged(context, inputs, id); // the diff of the resource that has it may have come since
  await markLive(context, inputs, id, { isAdopted: true });
  const makers = await findPossibleCreators(context, before.object);
  const hasWaited = left !== undefined && (await finishOwnCreation(context, inputs, left, makers));
  const { object, there, wanted, differences } = hasWaited
    ? await compareForImport(context, inputs, id)
    : before;
  const release = async (): Promise<void> => {
    await releaseObject(makers, context, before.object);
    if (left?.key !== undefined) await context.session.journal.remove(left.key);
  };
  try {
    const outs =
      differences.length === 0
        ? { ...initialOutputs(context, object, inputs, argumentsOf(context, wanted)), ...ADOPTED }
        : (await applyUpdate(context, id, { ...there, ...ADOPTED }, wanted)).outs;
    await release();
    return { id, outs };
  } catch (error) {
    if (error instanceof PartialState) await release(); // the state has the object then
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "refused") throw importDiffers(context, id, inputs, differences, error);
    if (!(error instanceof NotApplied)) throw error;
    const unmade = differences.filter(({ field }) => error.fields.includes(field));
    throw importDiffers(context, id, inputs, unmade, error);
  }
}

/** If the engine replaces the resource without telling, an earlier record of the same object may be left to be deleted. */
const ADOPTED = { isResumed: true };

/** Two resources never share an object. */
async function requireUnmanaged(context: Context, inputs: Desired, id: string): Promise<void> {
  const { urn = "" } = inputs;
  const { tracker, journal } = context.session;
  const object = identityOf(context, id);
  const holder = claimForImport(tracker, object, urn);
  if (holder !== urn) throw alreadyManaged(context.kind, id, holder);
  if (await isLiveElsewhere(journal, object)) throw alreadyManaged(context.kind, id);
}

/**
 * Brings an interrupted creation of the resource, which now gets another object, to its end while nothing has been changed yet. Its record stays
 * until the import has succeeded: it may have made the imported object.
 *
 * @returns whether it had to be waited for
 */
async function finishOwnCreation(
  context: Context,
  inputs: Desired,
  left: UnfinishedCreation,
  makers: readonly PossibleCreator[],
): Promise<boolean> {
  if (makers.some(({ key, isCertain }) => isCertain && key === left.key)) return false;
  // The import is how the user resolves a lost outcome.
  await finishAndDiscard(context, inputs, left, { mayBeLost: true });
  return true;
}

/** An unfinished creation that has made an object which `import` names, or that may have made it. */
interface PossibleCreator {
  readonly key: string;
  readonly isCertain: boolean;
}

/** Returns the unfinished creations, of this or of another resource, that have made an object which `import` names, or may have made it. */
async function findPossibleCreators(context: Context, { id }: ApiObject): Promise<PossibleCreator[]> {
  const makers: PossibleCreator[] = [];
  for (const entry of await context.session.journal.list()) {
    if (!isUrnOf(context.kind, entry.urn)) continue;
    const made = entry.id ?? (await createdBy(context, entry));
    if (made === id || made === undefined) makers.push({ key: entry.key, isCertain: made === id });
  }
  return makers;
}

/** Returns the id of the object that a creation has made, if its operation tells: one that still runs may name another object in the end. */
async function createdBy(context: Context, { operation }: Entry): Promise<string | undefined> {
  // The import doesn't fail because of another resource's operation: the object is then treated as one that it may have made.
  const seen = operation && (await fetchOperation(context, operation).catch(() => undefined));
  return seen && isTerminal(seen) ? context.session.client.resultId(seen) : undefined;
}

/** Once the state has an object, no unfinished creation may delete it or adopt it as its own (I3). */
async function releaseObject(
  makers: readonly PossibleCreator[],
  context: Context,
  { id }: ApiObject,
): Promise<void> {
  const { journal } = context.session;
  for (const { key, isCertain } of makers) {
    if (isCertain) {
      // A check of the creation's resource may have taken the key over: it would lead to the imported object.
      await markFinished(context, { key });
      await journal.remove(key);
    } else await journal.extend(key, { imported: [id] });
  }
}
