import type { ApiObject } from "../api/client";
import { comparableId } from "../api/objects";
import { CloudInfraError } from "../diagnostics/error";
import { isLaterMoment } from "../model/outputs";
import { identityKey, projectKind } from "../model/resource-fields";
import type { Recorded } from "../model/state";
import { deadlineIn, remainingMs } from "../polling/clock";
import { type Context, identityOf, objectRefOf } from "./context";
import type { LookupResult, ObjectRef } from "./lookup/object-getter";
import { RELEASE_CREATION } from "./partial-state";

/** Reads an object now, or confirms its absence like {@link findOrConfirmAbsence}. */
export async function findFresh(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  return findOrConfirmAbsence(context, ref, await context.session.finder.find(ref, context));
}

/**
 * Returns an object, or confirms that the object no longer exists. An object no longer exists if the service reports its deletion, or if
 * two independent checks don't find it while its project is visible. Outages and missing permissions are never treated as deletions. The
 * absence of a project proves nothing, unless this machine has requested the deletion.
 *
 * @throws CloudInfraError the error of a failed check; `forbidden` if the absence proves nothing
 */
export async function findOrConfirmAbsence(
  context: Context,
  ref: ObjectRef,
  first: LookupResult,
): Promise<ApiObject | undefined> {
  // The object may have moved to a different project.
  const result = await context.session.finder.findAgain(ref, first, context, { ...ref, project: undefined });
  if ("found" in result) return result.found;
  if (!result.isDeleted) await requireVisibleProject(context, ref);
  return undefined;
}

/** Throws an error unless the project of a missing object is visible or was deleted. */
export async function requireVisibleProject(context: Context, ref: ObjectRef): Promise<void> {
  if (!(await isProjectVisible(context, ref))) throw notVisible(context, ref);
}

/** Reports whether the project of an object is visible or was deleted by this program. */
export async function isProjectVisible(
  context: Context,
  { kind, id, project, shownProject, createdAt }: ObjectRef,
): Promise<boolean> {
  if (kind === projectKind) return wasDeletionRequested(context, id, createdAt);
  const { finder } = context.session;
  const parent = { kind: projectKind, project: undefined };
  // The list must be requested after the checks, because the token's permissions may have changed.
  const projects = await finder.list(parent, "fresh", context);
  if (project === undefined) return projects.size > 0;
  const isListed = (one: string): boolean => projects.has(one);
  const ids = [...new Set([project, shownProject ?? project])];
  for (const one of ids.some(isListed) ? ids.filter(isListed) : ids) {
    const isShown =
      isListed(one) ||
      "found" in (await finder.findAgain({ ...parent, id: one }, { missing: "list" }, context));
    if (isShown) await forgetDeletionRequest(context, one);
    if (isShown || (await wasDeletionRequested(context, one, createdAt))) return true;
  }
  return false;
}

/** Removes the record of a deletion request for a project that still exists, for example because the deletion failed. */
export async function forgetDeletionRequest({ session }: Context, project: string): Promise<void> {
  await session.journal.deletions.remove(identityKey(identityOf({ kind: projectKind, session }, project)));
}

/** Reports whether this machine has requested the deletion of a project. An earlier project may have had the same id. */
async function wasDeletionRequested({ session }: Context, project: string, createdAt: unknown) {
  const object = identityOf({ kind: projectKind, session }, project);
  if (session.tracker.wasDeleted(object)) return true;
  const requestedAt = await session.journal.deletions.requestedAt(identityKey(object));
  return requestedAt !== undefined && !isLaterMoment(createdAt, requestedAt);
}

function notVisible({ session: { client } }: Context, { kind, id, project }: ObjectRef): CloudInfraError {
  const name = `${kind.name} ${id}`;
  const what =
    kind === projectKind
      ? `did not return ${name}`
      : `returned neither ${name} nor ${project === undefined ? "any project" : `its project ${project}`}`;
  const hint =
    `Check the token and cloudinfra:endpoint (${client.endpoint}). ` +
    "If the objects were deleted, remove each object from the state with `pulumi state delete <urn>`. Nothing was changed";
  const message = `the service ${what}: the token may belong to another account or lack read access`;
  return new CloudInfraError("forbidden", message, { hint });
}

/** Reports whether an error comes from `requireObject`, which confirms absences. A 404 from another request proves nothing. */
export function isConfirmedAbsence({ code, status }: CloudInfraError): boolean {
  return code === "not_found" && status === undefined;
}

export async function requireObject(context: Context, id: string, state: Recorded): Promise<ApiObject> {
  const found = await findWithRevision(context, objectRefOf(context.kind, id, state));
  if (found === undefined) throw noLongerExists(context, id);
  return found;
}

/** Reads an object like `findFresh`. If only lists contain revisions, the object has the revision of the list item. */
export async function findWithRevision(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const found = await findFresh(context, ref);
  if (found?.revision !== undefined || !found?.isFromOwnUrl) return found;
  const { finder } = context.session;
  const listed = await finder.findInList(ref, context);
  // The values are read again after the list, so that the service rejects the update if they have changed since then.
  return "found" in listed ? finder.gets.complete(listed.found, ref, context) : found;
}

export function noLongerExists(context: Context, id: string): CloudInfraError {
  return new CloudInfraError("not_found", `${context.kind.name} ${id} no longer exists`, {
    hint: "Run `pulumi refresh` to remove the missing object from the state, then `pulumi up` to recreate the object",
  });
}

/** The time that a list may lag behind writes, in milliseconds. */
const CATCHING_UP_MS = 30_000;

/**
 * Waits for a new object to appear in the list like {@link findListed}. If the deadline of the call is in less than 30 s, a quarter of the
 * remaining time is reserved for subsequent work.
 *
 * @returns `undefined` if the object doesn't appear in time
 * @throws CloudInfraError `timeout` with the object's id if the deadline is too early for the whole wait, which proves nothing
 */
export async function waitUntilListed(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const { finder, clock } = context.session;
  const { kind, id } = ref;
  const startedMs = clock.now();
  const left = remainingMs(context.deadline, clock);
  const deadline = left <= CATCHING_UP_MS ? deadlineIn(left * 0.75, clock) : context.deadline;
  const result = await context.progress.during(`waiting for the ${kind.name} to appear`, () =>
    readUntil(
      { ...context, deadline },
      () => finder.findInList(ref, context),
      (seen) => "found" in seen,
      () => "catching up",
    ),
  );
  // A list may omit values, or return values in a different form.
  if ("found" in result) return finder.gets.complete(result.found, ref, context);
  if (clock.now() - startedMs < CATCHING_UP_MS) {
    const message = `the service reported that it created ${kind.name} ${id}, but did not return it before the deadline`;
    throw new CloudInfraError("timeout", message, { resultId: id });
  }
  await requireSameForm(context, ref);
  return undefined;
}

/** Throws an error if the list contains the id in another form than the link. Otherwise, the object would be created again. */
async function requireSameForm(context: Context, ref: ObjectRef): Promise<void> {
  const objects = await context.session.finder.list(ref, "recent", context);
  const listed = [...objects.keys()].find((one) => comparableId(one) === comparableId(ref.id));
  if (listed === undefined || listed === ref.id) return;
  const { name } = ref.kind;
  const message = `the service lists ${name} "${listed}", but its links contain the id "${ref.id}"`;
  throw new CloudInfraError("bad_reply", message, {
    hint: `The provider requires the same id in links and lists. To give up the creation, ${RELEASE_CREATION}`,
  });
}

/**
 * Repeats the lookup of an object, because reads may lag behind its creation. If the service supports only lists, consecutive lists may come
 * from the same outdated replica, so the lookup is repeated over 30 s.
 */
export function findListed(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const find = () => findFresh(context, ref);
  const patience = context.session.finder.gets.isUnsupported(ref) ? "catching up" : "lag";
  return readUntil(context, find, isDefined, () => patience);
}

const isDefined = (object: ApiObject | undefined): boolean => object !== undefined;

/** Reads the object of a finished creation, and waits 30 s for it. A missing project is an error: the token may not have access yet. */
export async function findCreated(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const result = await context.session.finder.find(ref, context);
  if ("found" in result) return result.found;
  return (await waitUntilListed(context, ref)) ?? findOrConfirmAbsence(context, ref, result);
}

/** Returns the object of a `get`, or confirms its absence. Two checks are sufficient for a project, because nothing depends on the result. */
export async function findOrAbsent(context: Context, ref: ObjectRef, first: LookupResult) {
  if (ref.kind !== projectKind) return findOrConfirmAbsence(context, ref, first);
  const result = await context.session.finder.findAgain(ref, first, context);
  return "found" in result ? result.found : undefined;
}

/** Reads the object that a failed creation may have left. Retries for a few seconds. A missing object proves nothing. */
export function findNamedByOperation(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const find = async (): Promise<ApiObject | undefined> => {
    // A token that can read the operation belongs to the same account.
    const { finder } = context.session;
    const result = await finder.findAgain(ref, await finder.find(ref, context), context);
    return "found" in result ? result.found : undefined;
  };
  return readUntil(context, find, isDefined);
}

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** The maximum time that is reserved before the deadline for subsequent work, in milliseconds. */
const MAX_RESERVED_MS = 1_000;
/** The minimum time from the end of the first read to the start of the last read, in milliseconds. A list may lag 30 s behind writes. */
const PATIENCE_MS = {
  lag: 3_000,
  "catching up": CATCHING_UP_MS,
  deadline: Number.POSITIVE_INFINITY,
} as const;

/** How long a read is repeated: for a few seconds, over 30 s, or until the deadline of the call. */
export type Patience = keyof typeof PATIENCE_MS;

/** Repeats a read until it returns the expected result, because a list may lag behind writes. Returns the last result in any case. */
export async function readUntil<T>(
  { deadline, signal, session: { clock } }: Context,
  read: () => Promise<T>,
  isShown: (seen: T) => boolean,
  patienceFor: (seen: T) => Patience = () => "lag",
): Promise<T> {
  let lastMs = clock.now();
  let pauseMs = FIRST_PAUSE_MS;
  let seen = await read();
  const startedMs = clock.now();
  while (!isShown(seen) && lastMs - startedMs < PATIENCE_MS[patienceFor(seen)]) {
    const lastReadMs = clock.now() - lastMs; // the next read may take as long
    const left = remainingMs(deadline, clock) - lastReadMs - Math.min(MAX_RESERVED_MS, deadline.ms / 10);
    if (left < 1) break; // a fraction of a millisecond may not advance the clock
    await clock.sleep(Math.min(pauseMs, left), signal);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    lastMs = clock.now();
    seen = await read();
  }
  return seen;
}
