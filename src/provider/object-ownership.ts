import { CloudInfraError, withDetails } from "../diagnostics/error";
import type { Journal } from "../journal/journal";
import { identityKey, type Kind, type ObjectIdentity, projectKind } from "../model/resource-fields";
import type { Desired, Recorded } from "../model/state";
import { forgetDeletionRequest } from "./absence";
import { type Context, identityOf } from "./context";
import type { ResourceTracker } from "./resource-tracker";

/**
 * Records for all processes of this run that create returns an object, which a resource now manages (L1, L3). `isAdopted` means that the
 * state may already contain the object.
 */
export async function markLive(
  context: Context,
  inputs: Desired,
  id: string,
  { isAdopted }: { readonly isAdopted: boolean },
): Promise<void> {
  const { tracker, journal } = context.session;
  const { urn, key } = inputs;
  const object = identityOf(context, id);
  const { key: replaced, formerUrns = [] } = tracker.get(urn);
  tracker.recordCreated(urn, object, key, isAdopted);
  const project = context.kind === projectKind ? id : inputs.project;
  if (project !== undefined) await forgetDeletionRequest(context, project);
  if (replaced !== undefined) await journal.run.retract({ replacing: replaced });
  await addLiveObject(journal, object, key);
  if (!isAdopted) return;
  // The state may contain the resource with a former URN.
  for (const by of [...[urn, ...formerUrns].map(withoutStack), key])
    if (by !== undefined) await journal.run.add({ adopted: identityKey(object), by });
}

/** Tells the other processes of this run that the resource with this key manages an object. */
export async function addLiveObject(journal: Journal, object: ObjectIdentity, key: string | undefined) {
  const live = identityKey(object);
  await journal.run.add({ live });
  if (object.kind === projectKind.name && key !== undefined) await journal.run.add({ project: live, key });
}

/** Reports whether a process of this run has returned the object for a resource. Live objects are never deleted (L2, L3). */
export async function isLive(context: Context, id: string): Promise<boolean> {
  const { tracker, journal } = context.session;
  const object = identityOf(context, id);
  return tracker.liveOwner(object) !== undefined || isLiveElsewhere(journal, object);
}

/** Reports whether this run has adopted the recorded object for the same resource again. */
export async function isAdoptedAgain(context: Context, id: string, state: Recorded): Promise<boolean> {
  const adopted = identityKey(identityOf(context, id));
  for (const by of [withoutStack(state.urn), state.key])
    if (by !== undefined && (await context.session.journal.run.has({ adopted, by }))) return true;
  return false;
}

/** Removes the stack and the project from a URN. After a rename of the stack or project, the state still contains the former URN. */
function withoutStack(urn: string | undefined): string | undefined {
  return urn?.split("::").slice(2).join("::");
}

/**
 * Claims the object of a creation for its resource, so that no other creation and no `import` option adopts the object.
 *
 * @returns another resource that manages or has claimed the object in any process of this run: its URN, if known
 * @throws CloudInfraError `conflict` if another process claims the object at the same time
 */
export async function claimCreated(context: Context, { urn = "" }: Desired, id: string) {
  const { tracker, journal } = context.session;
  const object = identityOf(context, id);
  const what = identityKey(object);
  // Two creations of this process may get the same object before either of them is complete.
  const owner = tracker.liveOwner(object) ?? { urn: tracker.claim(`created ${what}`, urn) };
  if (owner.urn !== urn && !tracker.wasDeleted(object)) return owner;
  tracker.claim(what, urn, { isManager: true });
  if (await isLiveElsewhere(journal, object)) return { urn: undefined };
  await journal.run.add({ live: what });
  // Two processes may check the same object. Each process records the object before the check, so one of them finds the other's record.
  if (await isLiveElsewhere(journal, object)) throw alreadyShared(context, id);
  return undefined;
}

/** Throws an error if another resource manages the object of a new creation. Services may return existing objects with the same name. */
export async function requireUnshared(context: Context, inputs: Desired, id: string): Promise<void> {
  const owner = await claimCreated(context, inputs, id);
  if (owner !== undefined) throw alreadyShared(context, id, owner.urn);
}

function alreadyShared({ kind }: Context, id: string, owner?: string): CloudInfraError {
  return withDetails(alreadyManaged(kind, id, owner), { hint: HINT_IF_SHARED });
}

const HINT_IF_SHARED =
  "The service returned this object for the new resource, too. If the other resource's object was deleted outside of Pulumi, run `pulumi refresh`, " +
  "then `pulumi up`. Otherwise, give the two resources different names";

/** Reports whether a different process of this run has returned the object for a resource (L3). */
export async function isLiveElsewhere(journal: Journal | undefined, object: ObjectIdentity) {
  return (await journal?.run.hasOther({ live: identityKey(object) })) === true;
}

/** Claims an object, unless another resource manages or has claimed it. Returns the URN of the resource that then holds the object. */
export function claimForImport(tracker: ResourceTracker, object: ObjectIdentity, urn: string) {
  const live = tracker.liveOwner(object);
  return live === undefined ? tracker.claim(identityKey(object), urn) : live.urn;
}

/** Claims an object for the resource that manages it in the state. Returns the URN of another resource that manages or has claimed it. */
export function findOtherHolder(
  tracker: ResourceTracker,
  object: ObjectIdentity,
  { urn, key }: { readonly urn: string; readonly key: string | undefined },
): string | undefined {
  const live = tracker.liveOwner(object);
  const holder = live === undefined ? tracker.claim(identityKey(object), urn, { isManager: true }) : live.urn;
  return holder === urn || (live !== undefined && live.key === key) ? undefined : holder;
}

export function alreadyManaged({ name }: Kind, id: string, owner = "another resource"): CloudInfraError {
  return new CloudInfraError("conflict", `${name} ${id} is already managed by ${owner}`, {
    hint: "Remove one of the two resources from the program, or correct the `import` option. Nothing was changed",
  });
}
