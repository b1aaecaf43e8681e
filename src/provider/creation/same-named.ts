import { isCloudInfraError } from "../../diagnostics/error";
import { redact } from "../../diagnostics/redact";
import type { Context } from "../call";
import type { Properties } from "../host";
import { identityOf } from "../identity";
import { secretsOf } from "../inputs/secrets";
import { isSameName } from "../updates/renamed";
import { hiddenOf, resourceName } from "../values/state";
import { type Pending, sentFields } from "./pending";

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
export async function warnOfSameNamed(context: Context, inputs: Properties, pending: Pending): Promise<void> {
  try {
    const ids = await findSameNamed(context, pending);
    if (ids.length === 0) return;
    // The object's own name may be a secret, and so may whatever the service calls an id.
    const words =
      `cloudinfra: the service failed to create ${context.kind.name} "${resourceName(hiddenOf(inputs)) ?? ""}", and may have made it all the ` +
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
