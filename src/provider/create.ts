import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { generateKey, isValidKey, keyAfter, nextKey } from "../model/idempotency-key";
import { sentFields } from "../model/pending";
import { creationBody } from "../model/request-body";
import { identityKey, type Kind, projectKind } from "../model/resource-fields";
import type { Desired, Recorded } from "../model/state";
import { isProjectVisible } from "./absence";
import { argumentsOf, type Context, identityOf } from "./context";
import { completeCreation, fitToProgram } from "./create/completion";
import { adopt, idToAdopt } from "./create/import-option";
import { type CreationEnd, runCreation } from "./create/run";
import {
  discard,
  findPossibleRetry,
  findUnfinishedCreation,
  invisibleObjectId,
  isResumedElsewhere,
  markFinished,
  mayDelete,
  type UnfinishedCreation,
} from "./create/unfinished";
import { markLive, requireUnshared } from "./object-ownership";
import { failedAgain, partialCreation } from "./partial-state";
import { warnOfObjectLeftAlone, warnOfSameNamed } from "./warnings";

interface Created {
  readonly id: string;
  readonly outs: Recorded;
}

/**
 * Creates an object (§4.1, §4.2). Adopts the object in the `import` option, resumes an unfinished creation, or starts a new creation. A new
 * creation writes a journal entry, sends the request, waits for the operation, and reads the result.
 *
 * @throws PartialState if the service may have created something. The next `up`, on any machine, resumes the creation
 * @throws CloudInfraError if nothing was created
 */
export async function create(context: Context, inputs: Desired): Promise<Created> {
  requireOwnKey(context, inputs);
  await requireOnlyResumption(context, inputs);
  const imported = await idToAdopt(context, inputs);
  if (imported !== undefined) return adopt(context, inputs, imported);
  const left = await findUnfinishedCreation(context, inputs);
  if (left === undefined) return createNew(context, inputs, await unusedKey(context, inputs));
  const { urn = "", key: resource } = inputs;
  const retry = await findPossibleRetry(context, { urn, replaces: resource }, left);
  const first = await resumeCreation(context, inputs, left);
  if (first !== undefined) await context.session.journal.remove(retry?.key);
  const resumed = first ?? (retry && (await resumeCreation(context, inputs, retry)));
  if (resumed !== undefined) return resumed;
  const { key: spent } = retry ?? left;
  const key = keyAfter(spent, keyOf(inputs));
  return createNew(context, inputs, key, spent).catch((error: unknown) => {
    // Without a new state, the engine would keep the failed creation in the state, and every `up` would resume that creation (C4).
    throw left.isInState && isCloudInfraError(error) ? failedAgain(context, error, inputs, key) : error;
  });
}

/** Throws an error if another resource has the same key. The state may contain the object with a different URN. */
function requireOwnKey({ session, kind }: Context, inputs: Desired): void {
  const { key, urn } = inputs;
  const holder = session.tracker.holderOf(key);
  if (holder !== undefined && holder !== urn) throw alreadyCreating(kind, holder);
}

/** Throws an error if another process of this run resumes or discards the unfinished creation of this resource. */
async function requireOnlyResumption(context: Context, { key, urn }: Desired): Promise<void> {
  const { resumes, placeholder } = context.session.tracker.get(urn);
  if (key === undefined || (resumes ?? placeholder) === undefined) return;
  if (await isResumedElsewhere(context, key)) throw alreadyCreating(context.kind, "another resource");
}

function alreadyCreating({ name }: Kind, holder: string): CloudInfraError {
  return new CloudInfraError("conflict", `${holder} manages the ${name} of an interrupted creation`, {
    hint: "Nothing was changed. Run `pulumi up` again",
  });
}

/** @returns `undefined` if the creation failed or its object requires a replacement, so that a new object must be created */
async function resumeCreation(
  context: Context,
  inputs: Desired,
  left: UnfinishedCreation,
): Promise<Created | undefined> {
  // The state must not make an object deletable that an earlier run may have reported to the engine.
  const begun = mayDelete(context, left) ? left : { ...left, isLate: true };
  const end = await runCreation(context, inputs, begun, true).catch(
    async (error: unknown): Promise<CreationEnd> => {
      if (!isCloudInfraError(error) || !(await leaveInOtherProject(context, inputs, left, error)))
        throw error;
      return { kind: "failed", error }; // the program gets a new object in its project
    },
  );
  requireOwnKey(context, inputs); // a check may have run in the meantime
  if (end.kind === "created") {
    const outs = await fitToProgram(context, end.object, left, inputs);
    if (outs !== undefined) {
      const { id } = end.object;
      await markLive(context, inputs, id, { isAdopted: left.id !== undefined });
      await context.session.journal.extend(left.key, { id });
      await markFinished(context, left);
      return { id, outs };
    }
  } else if (end.kind === "failed" && end.object) await discard(context, inputs, end.object, left);
  await markFinished(context, left);
  return undefined;
}

/** Leaves the object of an unfinished creation alone if the program now has another project, and the object isn't visible. */
async function leaveInOtherProject(
  context: Context,
  { project }: Desired,
  left: UnfinishedCreation,
  error: CloudInfraError,
): Promise<boolean> {
  const id = project === sentFields(left).project ? undefined : invisibleObjectId(context, left, error);
  // If the program's project isn't visible either, the token may lack access, and the old project may still exist.
  if (id === undefined || !(await isProjectVisible(context, { kind: context.kind, id, project })))
    return false;
  await warnOfObjectLeftAlone(context, { id, fields: {} });
  return true;
}

/** The maximum number of keys to try if the service replays stored failures. */
const MAX_KEYS = 3;

/** @param former the key of an unfinished creation whose entry is removed when the new creation is recorded */
async function createNew(context: Context, inputs: Desired, firstKey: string, former?: string) {
  const { journal, tracker, settings } = context.session;
  const { urn = "", secrets, isAutonamed } = inputs;
  const body = creationBody(context.kind.fields, inputs);
  const { key: replaces, displaces, entry: replaced } = tracker.get(urn);
  const lineage = {
    resource: keyOf(inputs, firstKey),
    replaces,
    projectKey: await projectKey(context, inputs),
  };
  if (displaces !== undefined) await journal.move(displaces.purpose, { urn: displaces.to });
  let isWarned = false;
  for (let key = firstKey, tries = 1; ; key = nextKey(key), tries += 1) {
    const pending = { key, body, at: Date.now(), provider: settings.provider, secrets, isAutonamed };
    tracker.claim(key, urn);
    tracker.extend(urn, { unsaved: key });
    const other = await journal.begin({ urn, ...lineage, ...pending });
    // Two processes that continue the same failed creation derive the same key, so the service creates only one object (§4.7).
    if (other !== undefined && other.key !== key) throw createdElsewhere();
    await journal.remove(former);
    // After a changed `replacementTrigger`, no diff has removed the replaced resource's entry. Its deletion requires the imports (I3).
    if (replaced?.imported === undefined) await journal.remove(replaced?.key);
    const end = await runCreation(context, inputs, pending, false);
    if (end.kind === "created") {
      const { id } = end.object;
      await requireUnshared(context, inputs, id).catch(async (error: unknown) => {
        // The id of the other resource's object may have been reused, so the next run checks again.
        await journal.extend(key, { id });
        throw error;
      });
      const { isEcho } = end;
      const asked = argumentsOf(context, inputs);
      const outs = await completeCreation(context, end.object, asked, inputs, pending, { isEcho });
      // The object of an earlier attempt may have appeared in the meantime.
      if (tries > 1 && !isWarned) await warnOfSameNamed(context, inputs, { ...pending, imported: [id] });
      await markLive(context, inputs, id, { isAdopted: false });
      await journal.extend(key, { id });
      return { id, outs };
    }
    if (end.kind === "failed" && end.object) {
      const { operation } = end;
      await journal.extend(key, { id: end.object.id }); // the engine saves the object
      throw partialCreation(context, end.error, inputs, { ...pending, operation, failed: true });
    }
    await journal.remove(key);
    await markFinished(context, pending);
    isWarned ||= end.kind === "key spent" && (await warnOfSameNamed(context, inputs, pending));
    if (end.kind === "failed" || tries === MAX_KEYS) throw end.error;
  }
}

/** Returns the error for a creation that another process has started since the check, for example after `pulumi cancel`. */
function createdElsewhere(): CloudInfraError {
  const hint = "Run `pulumi up` again to resume that creation. Nothing is created twice";
  return new CloudInfraError("conflict", "another process is creating the resource", { hint });
}

/** Returns the key of the resource of an instance's project, if this stack manages the project. */
async function projectKey({ session }: Context, { project }: Desired): Promise<string | undefined> {
  if (project === undefined) return undefined;
  const object = identityOf({ kind: projectKind, session }, project);
  const owner = session.tracker.liveOwner(object);
  return owner === undefined ? session.journal.run.findProjectKey(identityKey(object)) : owner.key;
}

/**
 * Returns the first key that this run hasn't used yet. With an error hook, the engine may repeat a call with the same inputs. The same key
 * would then return a deleted object or a stored failure.
 */
async function unusedKey({ session }: Context, inputs: Desired): Promise<string> {
  let key = keyOf(inputs);
  while (await session.journal.run.has({ finished: key })) key = nextKey(key);
  return key;
}

/** Returns the idempotency key. The engine saves this key with the inputs before it calls create (§4.7). */
function keyOf({ key }: Desired, otherwise: string = generateKey()): string {
  return isValidKey(key) ? key : otherwise;
}
