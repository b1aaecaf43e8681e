import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { type Call, valuesOf } from "../call";
import type { Properties } from "../host";
import { identityOf, textOf } from "../identity";
import type { Kind } from "../kind";
import { alreadyManaged, becomesLive, holderOf, isLiveElsewhere } from "../live";
import { NotApplied, update } from "../update";
import { outputsOfNew } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { compared, importDiffers } from "./import-comparison";
import { leftOverOf, settle, type Unfinished } from "./left-over";
import { type Maker, makersOf, releaseFrom } from "./makers";
import { PartialState } from "./partial";

/**
 * Returns the id of the object to adopt because of the `import` option. Undefined if the resource had the object before: its replacement
 * creates another one.
 *
 * @throws CloudInfraError `not_found` if this run has deleted the object as another resource's
 */
export async function importedId(call: Call, inputs: Properties): Promise<string | undefined> {
  const { memory, journal } = call.session;
  const { __import: id, __urn: urn } = hiddenOf(inputs);
  if (id === undefined) return undefined;
  const object = identityOf(call, id);
  // An error hook makes the engine repeat a create that has failed after the adoption.
  const live = memory.liveAs(object);
  const isRepeated = live?.urn === urn && live?.adoptedFor !== undefined;
  if (!isRepeated && memory.hasImported(urn, id)) return undefined;
  if (await journal.run.has({ gone: textOf(object) })) return undefined;
  if (memory.isGone(object)) throw deletedBefore(call.kind, id);
  return id;
}

/** The error about an object that was that of an unfinished creation which no longer fitted, for example. */
function deletedBefore({ name }: Kind, id: string): CloudInfraError {
  return new CloudInfraError(
    "not_found",
    `${name} ${id} was deleted in this run, before it could be imported`,
    {
      hint: `Correct the \`import\` option, or remove it: \`pulumi up\` then creates another ${name}`,
    },
  );
}

/**
 * Takes over an object that exists, in place of making one: the host can't import. It is compared with the program first;
 * what can be changed in place is, on condition of its revision.
 *
 * @throws CloudInfraError `not_found` where the service does not show it; `import_differs` where it could only be made what the
 * program asks for by replacing it. Nothing was changed then
 */
export async function adopt(
  call: Call,
  inputs: Properties,
  id: string,
): Promise<{ id: string; outs: Properties }> {
  await requireUnmanaged(call, inputs, id);
  const before = await compared(call, inputs, id);
  const left = await leftOverOf(call, inputs);
  await requireUnmanaged(call, inputs, id); // the diff of the resource that has it may have come since
  await becomesLive(call, inputs, id, { isAdopted: true });
  const makers = await makersOf(call, before.object);
  const hasWaited = left !== undefined && (await endBefore(call, inputs, left, makers));
  const { object, there, wanted, differences } = hasWaited ? await compared(call, inputs, id) : before;
  const release = async (): Promise<void> => {
    await releaseFrom(makers, call, before.object);
    if (left?.key !== undefined) await call.session.journal.remove(left.key);
  };
  try {
    const outs =
      differences.length === 0
        ? { ...outputsOfNew(call, object, inputs, valuesOf(call, wanted)), ...RESUMED }
        : (await update(call, id, { ...there, ...RESUMED }, wanted)).outs;
    await release();
    return { id, outs };
  } catch (error) {
    if (error instanceof PartialState) await release(); // the state has the object then
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "refused") throw importDiffers(call, id, inputs, differences, error);
    if (!(error instanceof NotApplied)) throw error;
    const unmade = differences.filter(({ field }) => error.fields.includes(field));
    throw importDiffers(call, id, inputs, unmade, error);
  }
}

/** If the engine replaces the resource without telling, an earlier record of the same object may be left to be deleted. */
const RESUMED = { __resumed: true };

/** Two resources never share an object. */
async function requireUnmanaged(call: Call, inputs: Properties, id: string): Promise<void> {
  const { __urn: urn = "" } = hiddenOf(inputs);
  const { memory, journal } = call.session;
  const object = identityOf(call, id);
  const holder = holderOf(memory, object, urn);
  if (holder !== urn) throw alreadyManaged(call.kind, id, holder);
  if (await isLiveElsewhere(journal, object)) throw alreadyManaged(call.kind, id);
}

/**
 * Brings an interrupted creation of the resource, which now gets another object, to its end while nothing has been changed yet. Its record stays
 * until the import has succeeded: it may have made the imported object.
 *
 * @returns whether it had to be waited for
 */
async function endBefore(
  call: Call,
  inputs: Properties,
  left: Unfinished,
  makers: readonly Maker[],
): Promise<boolean> {
  if (makers.some(({ key, isCertain }) => isCertain && key === left.key)) return false;
  // The import is how the user resolves a lost outcome.
  await settle(call, inputs, left, { mayBeLost: true });
  return true;
}
