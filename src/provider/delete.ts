import { CloudInfraError } from "../diagnostics/error";
import { stackOf } from "../journal/place";
import { type Call, requireRecordedEndpoint } from "./call";
import { waitUntilShown } from "./creation/being-made";
import { settle, settleEntry, settleLeftOver } from "./creation/left-over";
import { isPlaceholder, type Pending, pendingOf, sentFields } from "./creation/pending";
import { warnOfLeftAlone } from "./creation/unclear";
import type { Properties } from "./host";
import { identityOf } from "./identity";
import { instanceKind, projectKind } from "./kind";
import { isLive, removeObject } from "./removal";
import { hiddenOf } from "./values/state";

/**
 * Deletes a resource. An unfinished creation of it is brought to its end first; so are an interrupted replacement of it, and the
 * interrupted creations of a project's instances.
 */
export async function remove(call: Call, id: string, state: Properties): Promise<void> {
  requireRecordedEndpoint(call, id, state);
  const { memory, journal } = call.session;
  const { __urn: urn, __key: key } = hiddenOf(state);
  // With `deleteBeforeReplace`, this comes before the create that deals with unfinished creations of the resource.
  const isHandedOver =
    memory.isBeingReplaced(key) || (key !== undefined && (await journal.run.hasOther({ replacing: key })));
  if (isPlaceholder(id)) {
    const pending = pendingOf(state);
    if (pending !== undefined && !pending.failed && !isHandedOver)
      await removePlaceholder(call, state, pending);
    return;
  }
  requireNotImportedAgain(call, id, key);
  if (!isHandedOver) await settleLeftOver(call, id, state, urn);
  if (!(await isLive(call, id))) {
    if (call.kind === projectKind)
      await call.progress.during("waiting for the deletion of the project's last instances", () =>
        settleInstancesOf(call, id, memory.urn ?? urn),
      );
    await waitUntilShown(call, id, state);
  }
  await removeObject(call, id, state.project);
  const entry = key === undefined ? undefined : await journal.find(key);
  if (entry?.id === id) await journal.remove(entry.key);
}

/** A creation that another create of this run has already settled is not waited for again (L3). */
async function removePlaceholder(call: Call, state: Properties, pending: Pending): Promise<void> {
  const { journal } = call.session;
  const { key } = pending;
  if (key !== undefined && (await journal.run.has({ settled: key }))) return;
  await settle(call, state, { ...pending, isInState: true });
  const { __key: resource } = hiddenOf(state);
  const entry = resource === undefined ? undefined : await journal.find(resource);
  if (entry !== undefined && entry.key === key) await journal.remove(entry.key);
}

/** The engine asks for a replacement without telling create about it, so `import` has adopted the same object again. */
function requireNotImportedAgain(call: Call, id: string, key: string | undefined): void {
  const live = call.session.memory.liveAs(identityOf(call, id));
  if (!live?.isImported || live.key === key) return;
  throw new CloudInfraError(
    "import_differs",
    `${call.kind.name} ${id} was not replaced: its \`import\` option has adopted it again`,
    {
      hint:
        "Nothing was changed. Remove the `import` option from the program, which has done its work, and run " +
        "`pulumi up`. Then replace the resource",
    },
  );
}

/** Settles this stack's journal entries for instances of the project: nothing else would ever find these instances (X2). */
async function settleInstancesOf(call: Call, project: string, urn: string | undefined): Promise<void> {
  const { journal } = call.session;
  const instances = { ...call, kind: instanceKind };
  for (const entry of await journal.list()) {
    const isOurs = urn !== undefined && stackOf(entry.urn) === stackOf(urn);
    const isOfProject = entry.urn.includes("cloudinfra:Instance::") && sentFields(entry).project === project;
    if (!isOurs || !isOfProject) continue;
    if (entry.id === undefined) {
      await settleEntry(instances, { __urn: entry.urn, project }, entry);
      await journal.remove(entry.key);
    } else if (!(await isLive(instances, entry.id)))
      await warnOfLeftAlone(instances, { id: entry.id, fields: {} });
  }
}
