import { isCloudInfraError } from "../diagnostics/error";
import type { Call } from "./call";
import { type Pending, sentFields } from "./pending";

/**
 * The ids of the objects that have the name which a creation asked for. They are reported, and never taken: the wrong
 * machine could be taken.
 */
export async function sameNamed(call: Call, pending: Pending): Promise<string[]> {
  const { name: wanted, project } = sentFields(pending);
  const objects = await call.kind.list(call.session.client, project, call);
  return objects.filter(({ fields }) => wanted !== undefined && fields.name === wanted).map(({ id }) => id);
}

/** The service stored a failure of this creation, which says nothing about what it had done by then (§4.7). */
export async function warnOfSameNamed(call: Call, pending: Pending): Promise<void> {
  try {
    const ids = await sameNamed(call, pending);
    if (ids.length === 0) return;
    const { name } = sentFields(pending);
    await call.session.warn(
      `cloudinfra: the service failed to create ${call.kind.name} "${name}", and may have made it all the same: its list ` +
        `shows ${ids.join(", ")} under that name. Another is made now. Look at the service, and delete there what nobody uses.`,
    );
  } catch (error) {
    // What can't be looked at can't be reported; the creation itself goes on, or fails for its own reasons.
    if (!isCloudInfraError(error)) throw error;
  }
}
