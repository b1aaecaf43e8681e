import type { Accepted } from "../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../diagnostics/error";
import { remainingMs } from "../operations/deadline";
import type { Operation } from "../operations/operation";
import { type Call, finish, soughtOf } from "./call";
import { warnWithoutSecrets } from "./creation/same-named";
import { identityOf, textOf } from "./identity";
import { projectKind } from "./kind";
import { isLive } from "./live";
import { findNow, requireEvidence, secondLook, stillExists } from "./looks/absence";
import type { Sought } from "./looks/look";
import { readUntil } from "./looks/read-until";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Deletes an object and confirms the deletion. The specification does not show DELETE (§4.8): if the service does not offer it, the
 * deletion of an object that no longer exists succeeds, and that of any other fails. A live object is never deleted (L2).
 *
 * @param isRetained whether the program's resource has the option `retainOnDelete`: if the service does not offer DELETE, the object is left
 * there with a warning. The engine goes by the option in the state, which may be older
 */
export async function removeObject(
  call: Call,
  id: string,
  project: unknown,
  { isRetained = false } = {},
): Promise<void> {
  if (await isLive(call, id)) return;
  const { sightings, memory } = call.session;
  const sought = soughtOf(call.kind, id, { project });
  // Nothing but an earlier look can show that a project was there.
  const isNew = call.kind === projectKind && !sightings.hasShown(sought);
  if (isNew && (await findNow(call, sought)) === undefined) return;
  const accepted = await tryDelete(call, sought).finally(() => sightings.forget());
  if (!isCloudInfraError(accepted)) {
    if (accepted.kind === "operation") await finished(call, id, accepted.operation);
    if (accepted.kind !== "none") sightings.shows(sought);
    await call.progress.during(`waiting until the service shows the ${call.kind.name} no more`, () =>
      waitUntilGone(call, sought, accepted),
    );
    // Some services accept the deletion of any id.
    if (!sightings.hasShown(sought)) await requireEvidence(call, sought);
    memory.deleted(identityOf(call, id));
    return;
  }
  // If the reply to the DELETE that succeeded was lost, reads may lag behind it.
  const left = await readUntil(
    call,
    () => findNow(call, sought),
    (object) => object === undefined,
  );
  if (left === undefined) return;
  if (accepted.code === "not_found") throw notFound(sought, accepted);
  if (!isRetained) throw notOffered(call, sought);
  await warnOfRetained(call, sought);
}

/** Waits for the end of a deletion. If it failed, the object is still there, and its later absence proves nothing. */
async function finished(call: Call, id: string, operation: Operation): Promise<void> {
  try {
    await finish(call, operation);
  } catch (error) {
    if (call.kind === projectKind && isCloudInfraError(error) && error.code === "operation_failed")
      await stillExists(call, id);
    throw error;
  }
}

/**
 * @returns the error if DELETE answered that there is no such object, or that there is no DELETE. If an earlier attempt may have been
 * carried out, the answer that there is no such object shows that it was
 */
async function tryDelete(call: Call, sought: Sought): Promise<Accepted | CloudInfraError> {
  try {
    return await requestDeletion(call, sought);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "not_found" && error.sent) return { kind: "none", deferred: true };
    if (error.code === "not_found" || error.code === "unsupported") return error;
    throw error.code === "conflict" && error.sent ? withDetails(error, { hint: HINT_IF_SENT }) : error;
  }
}

const HINT_IF_SENT =
  "The service may be carrying out the deletion, because the reply to an earlier attempt was lost. Run the command again";

/** Sends the DELETE. That of a project is recorded, because a project that is not visible any more need not have been deleted. */
async function requestDeletion(call: Call, { kind, id }: Sought): Promise<Accepted> {
  const { client, journal } = call.session;
  if (kind !== projectKind) return kind.delete(client, id, call);
  const project = textOf(identityOf(call, id));
  const isRecorded = await journal.deletions.has(project);
  if (!isRecorded) await journal.deletions.add(project);
  try {
    return await kind.delete(client, id, call);
  } catch (error) {
    if (!isRecorded && isCloudInfraError(error) && !error.sent) await journal.deletions.remove(project);
    throw error;
  }
}

/**
 * After a DELETE that was accepted, one look that does not find the object confirms. If nothing tells when the deletion ends, it takes two,
 * because a list that lags may not show the object yet.
 */
async function waitUntilGone(call: Call, sought: Sought, accepted: Accepted): Promise<void> {
  const { sightings, clock } = call.session;
  const isDeferred = accepted.kind !== "operation" && accepted.deferred;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const first = await sightings.afterDeletion(sought, call);
    const look = isDeferred ? await secondLook(call, sought, first) : first;
    if ("missing" in look) return;
    if (remainingMs(call.deadline, clock) <= pause) {
      throw new CloudInfraError(
        "timeout",
        `the service accepted the deletion, but still shows ${sought.kind.name} ${sought.id}`,
      );
    }
    await clock.sleep(pause, call.signal);
  }
}

/** One reply that doesn't find an object which is shown afterwards may be a failure of the service. */
function notFound({ kind, id }: Sought, reply: CloudInfraError): CloudInfraError {
  const { method, path, traceId, attempts } = reply;
  const message = `the service didn't find ${kind.name} ${id} to delete it, but still shows it`;
  const hint =
    "Run the command again. If this happens each time, check at the service whether it offers a deletion";
  return new CloudInfraError("not_found", message, { method, path, traceId, attempts, hint });
}

function warnOfRetained(call: Call, { kind, id }: Sought): Promise<void> {
  return warnWithoutSecrets(
    call,
    `cloudinfra: ${kind.name} ${id} was left alone, because the service offers no deletion of ${kind.name}s and the resource has the ` +
      "option `retainOnDelete`. If nobody uses it, delete it in another way.",
  );
}

function notOffered({ kind }: Call, { id }: Sought): CloudInfraError {
  return new CloudInfraError(
    "unsupported",
    `the service offers no deletion of ${kind.name}s, and ${kind.name} ${id} is still there`,
    {
      hint:
        "delete it by the service's own means and run the command again; or leave it there: " +
        "`retainOnDelete: true` in the resource's options, or `pulumi state delete <urn>`",
    },
  );
}
