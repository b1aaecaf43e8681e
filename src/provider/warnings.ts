import type { ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { isKeyKept } from "../model/idempotency-key";
import { isSameName } from "../model/names";
import { isLaterMoment } from "../model/outputs";
import { type Pending, sentFields } from "../model/pending";
import { type Desired, resourceName } from "../model/state";
import { readUntil } from "./absence";
import type { Context } from "./context";
import { isDeleted } from "./lookup/object-getter";
import { isLive } from "./object-ownership";
import { FORGET } from "./partial-state";

/** Returns the error for a creation of unknown outcome. @param wasSent whether this run may have created something */
export async function outcomeUnknown(
  context: Context,
  inputs: Desired,
  pending: Pending,
  { wasSent = false } = {},
): Promise<CloudInfraError> {
  const same = await findSameNamed(context, pending, inputs.urn);
  const found =
    same.length === 0
      ? `no ${context.kind.name} with the same name`
      : `${same.join(", ")} with the same name`;
  const what = !isKeyKept(pending)
    ? "a creation was interrupted more than 23 hours ago"
    : pending.operation === undefined
      ? "the record of an interrupted creation is damaged"
      : `the service no longer reports operation ${pending.operation.id} of an interrupted creation`;
  const message = `${what}, so the outcome is unknown: the service lists ${found}`;
  return new CloudInfraError("key_expired", message, {
    hint: `If the object exists, adopt it with the \`import\` option, or delete it in the service. ${FORGET}${wasSent ? "" : ". Nothing was created or adopted"}`,
  });
}

/** Returns the error for an object whose creation request is unknown, so that the object may not match the program. */
export function requestUnknown({ kind }: Context, { id }: ApiObject): CloudInfraError {
  const message = `an interrupted creation created ${kind.name} ${id}, but the record of the creation is damaged`;
  return new CloudInfraError("key_expired", message, {
    resultId: id,
    hint: `Adopt the object with the \`import\` option, or delete it in the service. ${FORGET}. Nothing was changed or deleted`,
  });
}

/** Warns about objects that an interrupted creation of unknown outcome may have created, if no resource needs them. */
export async function warnOfPossibleObjects(context: Context, pending: Pending): Promise<void> {
  const find = () => findSameNamed(context, pending);
  const ids = await readUntil(context, find, (found) => found.length > 0);
  if (ids.length === 0) return;
  await context.session.warn(
    `cloudinfra: an interrupted run may have created ${context.kind.name} ${ids.join(" or ")}, which the program doesn't need. ` +
      "Pulumi doesn't manage this object. If you don't need the object, delete it in the service.",
  );
}

/** Warns that another resource manages the object of an interrupted creation, because of an import or a reused id. */
export async function warnOfObjectAdoptedElsewhere(context: Context, inputs: Desired, { id }: ApiObject) {
  const { name } = context.kind;
  const resource = resourceName(inputs.urn);
  await context.session.warn(
    `cloudinfra: an interrupted run created ${name} ${id} for "${resource}", but another resource in the program now uses it. ` +
      `The provider creates another ${name} for "${resource}". If you need only one ${name}, remove one of the two resources from the program.`,
  );
}

/** Warns about an object that the program doesn't need. Only a user can delete it, because it may be in another state or retained (I3). */
export async function warnOfObjectLeftAlone(
  context: Context,
  { id }: ApiObject,
  { isRetained = false } = {},
): Promise<void> {
  const why = isRetained ? "the resource has the option `retainOnDelete`" : "another resource may use it";
  await context.session.warn(
    `cloudinfra: an interrupted run created ${context.kind.name} ${id}, which the program doesn't need. The object was not deleted, because ` +
      `${why}. If you don't need the object, delete it in the service.`,
  );
}

/**
 * Returns the ids of the objects that have the name of a creation and belong to no resource of this run. A name alone proves nothing.
 *
 * @param urn the URN of the resource whose current object the creation replaces
 */
async function findSameNamed(context: Context, pending: Pending, urn?: string): Promise<string[]> {
  const { kind, session } = context;
  const { name: wanted, project } = sentFields(pending);
  const replaced = session.tracker.get(urn).id;
  const start = new Date(pending.at ?? Number.NaN).toJSON(); // null if the record is damaged
  const found: string[] = [];
  for (const object of await kind.requests(session.client, project).list(context)) {
    const { id, fields } = object;
    if (!isSameName(fields.name, wanted) || isDeleted(object) || pending.imported?.includes(id)) continue;
    // Some services reuse ids.
    const isReplaced = id === replaced && !isLaterMoment(fields.created_at, start);
    if (!isReplaced && !(await isLive(context, id))) found.push(id);
  }
  return found;
}

/** Returns a hint for an object that isn't found while the outcome of its creation is unknown. */
export async function hintForMissing(context: Context, id: string, pending: Pending): Promise<string> {
  const { name } = context.kind;
  const others = (await findSameNamed(context, pending)).join(", ");
  return (
    `Check in the service whether ${name} ${id} exists: the list contains ${others || "no object"} with that name. ` +
    `If the ${name} doesn't exist, run \`pulumi state delete <urn>\``
  );
}

/**
 * Warns about objects that a failed creation may have left. A stored failure doesn't prove that nothing was created (§4.7), and a failed
 * operation may have no link to its object. Returns whether there are such objects.
 */
export async function warnOfSameNamed(context: Context, inputs: Desired, pending: Pending): Promise<boolean> {
  try {
    const ids = await findSameNamed(context, pending, inputs.urn);
    if (ids.length === 0) return false;
    // The warning contains the name of the resource, because the name of the object may be a secret.
    const { name } = context.kind;
    const message =
      `cloudinfra: the service reported that it failed to create ${name} "${resourceName(inputs.urn) ?? ""}", but the creation may have left ` +
      `an object: the service lists ${ids.join(", ")} with the same name. The provider doesn't adopt or delete objects by name, so ` +
      `\`pulumi up\` creates another ${name}. Check the service, and delete the objects that you don't need.`;
    await context.session.warn(message);
    return true;
  } catch (error) {
    // Without the list, no warning is possible. The creation continues or reports its own error.
    if (!isCloudInfraError(error)) throw error;
    return false;
  }
}
