import type { Accepted } from "../../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import { identityKey, projectKind } from "../../model/resource-fields";
import type { Recorded } from "../../model/state";
import { findFresh, forgetDeletionRequest, readUntil, requireVisibleProject } from "../absence";
import { type Context, identityOf, objectRefOf, waitForOperationSuccess } from "../context";
import type { LookupResult, ObjectRef } from "../lookup/object-getter";
import { isLive } from "../object-ownership";
import { compareIdentity, isIdReused } from "../reused-ids";

type AcceptedOperation = Extract<Accepted, { kind: "operation" }>;

/**
 * Deletes an object and confirms the deletion. If the service doesn't support DELETE (§4.8), throws an error unless the object no longer
 * exists. Live objects are never deleted (L2).
 *
 * @param isRetained whether the program sets the option `retainOnDelete`. The object is then kept with a warning if the service doesn't
 * support DELETE. The engine uses the option from the state, which may be outdated
 * @param state the recorded object. If this process has already read a different object with that id, no request is sent
 */
export async function removeObject(
  context: Context,
  id: string,
  project: string | undefined,
  { isRetained = false, state = {} }: { isRetained?: boolean; state?: Partial<Recorded> } = {},
): Promise<void> {
  if (await isLive(context, id)) return;
  const { finder, tracker } = context.session;
  const { createdAt, remoteValues } = state;
  const ref = objectRefOf(context.kind, id, { project, createdAt, remoteValues });
  // If the token can't read a project, only an earlier read proves that the project existed.
  const isNew = context.kind === projectKind && !finder.hasSeenProjectOf(ref);
  if (isNew && (await findFresh(context, ref)) === undefined) return;
  const seen = finder.lastSeen(ref);
  if (seen !== undefined && (await isIdReused(context, ref, seen, state))) return;
  const reply = await tryDelete(context, ref).finally(() => finder.invalidate());
  if (!isCloudInfraError(reply)) {
    const accepted = reply.kind === "operation" ? await waitForDeletion(context, id, reply) : reply;
    if (accepted.kind !== "none") finder.recordSeen(ref);
    await context.progress.during("waiting for confirmation", () =>
      waitForConfirmation(context, ref, accepted, state),
    );
    // Some services accept a DELETE for any id, even if there is no such object.
    if (!finder.hasSeenProjectOf(ref)) await requireVisibleProject(context, ref);
    tracker.recordDeleted(identityOf(context, id));
    return;
  }
  // If the reply to a successful DELETE was lost, reads may still return the object.
  const left = await readUntil(
    context,
    () => findFresh(context, ref),
    (object) => object === undefined,
  );
  if (left === undefined) return;
  if (reply.code === "not_found") throw stillShown(ref, reply);
  if (!isRetained) throw deletionNotOffered(context, ref);
  await warnOfRetained(context, ref);
}

/** Waits for the deletion to end. If its operation no longer exists, only the object reveals the result. */
async function waitForDeletion(context: Context, id: string, accepted: AcceptedOperation): Promise<Accepted> {
  try {
    await waitForOperationSuccess(context, accepted.operation);
    return accepted;
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "operation_unknown")
      return { kind: "none", deferred: true };
    if (context.kind === projectKind && isCloudInfraError(error) && error.code === "operation_failed")
      await forgetDeletionRequest(context, id);
    throw error;
  }
}

/**
 * Sends the DELETE. The request for a project is recorded first, because an invisible project isn't necessarily deleted.
 *
 * @returns the error if the service reports that the object doesn't exist or that it doesn't support DELETE. If the reply to an earlier
 * attempt was lost, a missing object proves the deletion
 */
async function tryDelete(context: Context, ref: ObjectRef): Promise<Accepted | CloudInfraError> {
  const { client, journal } = context.session;
  const { kind, id } = ref;
  const object = identityKey(identityOf(context, id));
  const isRecorded = kind !== projectKind || (await journal.deletions.requestedAt(object)) !== undefined;
  if (kind === projectKind) await journal.deletions.add(object);
  try {
    return await kind.requests(client).delete(id, context);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (!isRecorded && !error.sent) await journal.deletions.remove(object);
    if (error.code === "not_found" && error.sent) return { kind: "none", deferred: true };
    // Some services reject the DELETE of an object that has the status "deleted".
    if (isRejectedDeletion(error) && (await isMarkedDeleted(context, ref))) return { kind: "none" };
    if (error.code === "not_found" || error.code === "unsupported") return error;
    throw error.code === "conflict" && error.sent ? withDetails(error, { hint: HINT_IF_SENT }) : error;
  }
}

/** Reports whether the service rejected a deletion that may succeed later, for example because the object is busy. */
export function isRejectedDeletion(error: unknown): error is CloudInfraError {
  return isCloudInfraError(error) && (error.code === "conflict" || error.code === "refused");
}

/** Reports whether the service returns the object as deleted. If the read fails, the rejection of the deletion is the more useful error. */
async function isMarkedDeleted(context: Context, ref: ObjectRef): Promise<boolean> {
  const result = await context.session.finder.find(ref, context).catch(() => undefined);
  return result !== undefined && "missing" in result && result.isDeleted === true;
}

const HINT_IF_SENT =
  "The reply to an earlier attempt was lost, so the deletion may already be in progress. Run the command again";

/** Waits until the service no longer returns the object. Two checks are required, unless the service reports the end of the deletion. */
async function waitForConfirmation(
  context: Context,
  ref: ObjectRef,
  accepted: Accepted,
  state: Partial<Recorded>,
): Promise<void> {
  const isDeferred = accepted.kind !== "operation" && accepted.deferred;
  const find = async (): Promise<LookupResult> => {
    const { finder } = context.session;
    const first = await finder.findAfterDeletion(ref, context);
    return isDeferred ? finder.findAgain(ref, first, context) : first;
  };
  const isGone = (result: LookupResult): boolean =>
    "missing" in result || compareIdentity(context, result.found, state) === "different";
  if (isGone(await readUntil(context, find, isGone, () => "deadline"))) return;
  const message = `the service accepted the deletion, but still returns ${ref.kind.name} ${ref.id}`;
  throw new CloudInfraError("timeout", message);
}

/** Returns the error for an object that DELETE doesn't find, but that the service still returns. The cause may be an outage. */
function stillShown({ kind, id }: ObjectRef, reply: CloudInfraError): CloudInfraError {
  const { method, path, traceId, attempts } = reply;
  const message = `the service returned "not found" for the deletion of ${kind.name} ${id}, but still returns the ${kind.name}`;
  const hint =
    "Run the command again. If the error persists, check whether the service supports the deletion";
  return new CloudInfraError("not_found", message, { method, path, traceId, attempts, hint });
}

function warnOfRetained(context: Context, { kind, id }: ObjectRef): Promise<void> {
  return context.session.warn(
    `cloudinfra: ${kind.name} ${id} was not deleted, because the service's API can't delete ${kind.name}s and the resource has the ` +
      "option `retainOnDelete`. Pulumi no longer manages this object. If you don't need the object, delete it in the service.",
  );
}

function deletionNotOffered({ kind }: Context, { id }: ObjectRef): CloudInfraError {
  const message = `the service doesn't support deleting ${kind.name}s, and ${kind.name} ${id} still exists`;
  const hint =
    "Delete the object with the service's own tools, and run the command again. To keep the object, set the resource option `retainOnDelete: true`, " +
    "or run `pulumi state delete <urn>`";
  return new CloudInfraError("unsupported", message, { hint });
}
