import type { ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { isSameName } from "../model/names";
import { isKeyKept, type Pending, sentFields } from "../model/pending";
import { secretsOf } from "../model/secrets";
import { type Desired, resourceName } from "../model/state";
import { type Context, identityOf } from "./context";
import { GIVE_UP } from "./partial-state";

const FORGET = `then ${GIVE_UP}. Then run \`pulumi up\` again`;

/** The outcome of a creation can't be found out: its key is no longer valid (§4.7), or its operation can't be found (E2). */
export async function outcomeUnknown(
  context: Context,
  inputs: Desired,
  pending: Pending,
): Promise<CloudInfraError> {
  const held = context.session.tracker.get(inputs.urn ?? "").id;
  const same = (await findSameNamed(context, pending)).filter((id) => id !== held);
  const found = same.length === 0 ? "no object of that name" : `under that name: ${same.join(", ")}`;
  const what = !isKeyKept(pending)
    ? "a creation was interrupted more than 23 hours ago"
    : pending.operation === undefined
      ? "the record of an interrupted creation is damaged"
      : `the service no longer reports operation ${pending.operation.id} of an interrupted creation`;
  const message = `${what}, and the service may have carried it out; its list shows ${found}`;
  return new CloudInfraError("key_expired", message, {
    hint: `Nothing was created or adopted. Adopt the object with the \`import\` option, or delete it at the service; ${FORGET}`,
  });
}

/** The original request of a creation is not known, so nobody can tell whether its object is what is wanted now. */
export function requestUnknown({ kind }: Context, { id }: ApiObject): CloudInfraError {
  const message = `an interrupted creation has created ${kind.name} ${id}, but its record is damaged`;
  return new CloudInfraError("key_expired", message, {
    resultId: id,
    hint: `Nothing was changed or deleted. Adopt the object with the \`import\` option, or delete it at the service; ${FORGET}`,
  });
}

/** Warns of objects that may come from an interrupted creation whose outcome is unknown and which no resource needs. */
export async function warnOfPossibleObjects(context: Context, pending: Pending): Promise<void> {
  const ids = await findSameNamed(context, pending);
  if (ids.length === 0) return;
  const words =
    `cloudinfra: an interrupted run may have created ${context.kind.name} ${ids.join(" or ")}, which the program does not need now. ` +
    "Nothing was changed. If no other resource uses it, delete it at the service.";
  await warnWithoutSecrets(context, words);
}

/** Another resource has the object: it has imported it, or the service has assigned its id again. */
export async function warnOfObjectAdoptedElsewhere(
  context: Context,
  inputs: Desired,
  { id }: ApiObject,
): Promise<void> {
  const { name } = context.kind;
  const resource = resourceName(inputs.urn);
  const words =
    `cloudinfra: another resource of the program has ${name} ${id}, which an interrupted run created for "${resource}". ` +
    `Another ${name} is created for "${resource}".`;
  await warnWithoutSecrets(context, words);
}

/** The engine may have saved the object, or the user wants to keep it, so only a person can decide what becomes of it (I3). */
export async function warnOfObjectLeftAlone(
  context: Context,
  { id }: ApiObject,
  { isRetained = false } = {},
): Promise<void> {
  const why = isRetained ? "of the option `retainOnDelete`" : "another resource may use it";
  await warnWithoutSecrets(
    context,
    `cloudinfra: an interrupted run created ${context.kind.name} ${id}, which the program does not need now. It was left alone, because ` +
      `${why}. If nobody uses it, delete it at the service.`,
  );
}

/**
 * The ids of the objects that have the name which a creation asked for, and that no resource of this stack has. They are reported, and never
 * taken: the wrong machine could be taken.
 */
export async function findSameNamed(context: Context, pending: Pending): Promise<string[]> {
  const { name: wanted, project } = sentFields(pending);
  const objects = await context.kind.list(context.session.client, project, context);
  const { tracker } = context.session;
  return objects
    .filter(({ fields }) => isSameName(fields.name, wanted))
    .filter(
      ({ id }) => tracker.liveOwner(identityOf(context, id)) === undefined && !pending.imported?.includes(id),
    )
    .map(({ id }) => id);
}

/** The service stored a failure of this creation, which says nothing about what it had done by then (§4.7). */
export async function warnOfSameNamed(context: Context, inputs: Desired, pending: Pending): Promise<void> {
  try {
    const ids = await findSameNamed(context, pending);
    if (ids.length === 0) return;
    // The object's own name may be a secret, and so may whatever the service calls an id.
    const words =
      `cloudinfra: the service failed to create ${context.kind.name} "${resourceName(inputs.urn) ?? ""}", and may have made it all the ` +
      `same: its list shows ${ids.join(", ")} under that name. Another is made now. Look at the service, and delete there what nobody uses.`;
    await warnWithoutSecrets(context, words);
  } catch (error) {
    // What can't be looked at can't be reported; the creation itself goes on, or fails for its own reasons.
    if (!isCloudInfraError(error)) throw error;
  }
}

/** Warns the user, without the secrets of the call and the tokens: an id may contain one, too. */
export async function warnWithoutSecrets({ session, secretSources }: Context, words: string): Promise<void> {
  await session.warn(redact(words, [...secretsOf(...secretSources).strings, ...session.client.tokens]));
}
