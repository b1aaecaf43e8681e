import { isDeepStrictEqual } from "node:util";
import { type Call, requireRecordedEndpoint } from "./call";
import { waitUntilShown } from "./creation/being-made";
import { settle, settleLeftOver } from "./creation/left-over";
import { isPlaceholder, type Pending, pendingOf, sentFields } from "./creation/pending";
import type { Properties } from "./host";
import { instanceKind, projectKind } from "./kind";
import { removeObject } from "./removal";
import { hiddenOf } from "./values/state";

/**
 * Deletes a resource. One whose creation is not known to have ended is brought to its end first; a replacement of it that was cut
 * off goes with it, and a project's instances that were cut off while they were made go before it.
 */
export async function remove(call: Call, id: string, state: Properties): Promise<void> {
  requireRecordedEndpoint(call, id, state);
  const { __urn: urn } = hiddenOf(state);
  const { isToBeCreated, placeholder } = call.session.memory.of(urn);
  if (isPlaceholder(id)) {
    const pending = pendingOf(state);
    // With the option `deleteBeforeReplace` this comes before the create that goes on with it.
    const isHandedOver = isToBeCreated && isDeepStrictEqual(pending, placeholder);
    if (pending !== undefined && !isHandedOver) await removePlaceholder(call, state, pending);
    return;
  }
  if (!isToBeCreated) await settleLeftOver(call, id, state, urn);
  if (call.kind === projectKind && !call.session.memory.isLive(id))
    await call.progress.during("waiting until the project's last instances are gone", () =>
      settleInstancesOf(call, id),
    );
  if (!call.session.memory.isLive(id)) await waitUntilShown(call, id, state);
  await removeObject(call, id, state.project);
}

async function removePlaceholder(call: Call, state: Properties, pending: Pending): Promise<void> {
  await settle(call, state, pending);
  const { __urn: urn } = hiddenOf(state);
  if (urn !== undefined && pending.key !== undefined) await call.session.journal.remove(urn, pending.key);
}

/** Entries of the journal for instances of this project: nothing else would ever find them. */
async function settleInstancesOf(call: Call, project: string): Promise<void> {
  const { journal } = call.session;
  for (const entry of await journal.list()) {
    const isOurs = entry.urn.includes("cloudinfra:Instance::") && sentFields(entry).project === project;
    if (!isOurs || (entry.id !== undefined && call.session.memory.isLive(entry.id))) continue;
    await settle({ ...call, kind: instanceKind }, { __urn: entry.urn, project }, entry);
    await journal.remove(entry.urn, entry.key);
  }
}
