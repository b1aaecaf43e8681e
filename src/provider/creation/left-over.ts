import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../../api/client";
import { isCloudInfraError, withDetails } from "../../diagnostics/error";
import { type Call, requireRecordedEndpoint, valuesOf } from "../call";
import { changedFields } from "../diff";
import type { Properties } from "../host";
import type { Seen } from "../memory";
import { removeObject } from "../removal";
import { update } from "../update";
import { outputsOfNew } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { carryOut } from "./carry-out";
import { advice, PartialState } from "./partial";
import { fieldsSent, type Pending, pendingOf, placeholderId, sentFields } from "./pending";
import { wishUnknown } from "./unclear";

/** Whether an entry of the journal is about what the state holds already, and so is no left-over. */
export function isHeld(entry: Pending & { readonly id?: string | undefined }, seen: Seen): boolean {
  const { key, id, operation } = entry;
  return [
    [key, seen.key],
    [id, seen.id],
    [operation?.id, seen.operation],
  ].some(([one, other]) => one !== undefined && one === other);
}

/**
 * The creation of this URN that was cut off, if there was one: what the state says, or the journal. Of two the later counts,
 * and the other is settled.
 */
export async function leftOverOf(call: Call, inputs: Properties): Promise<Pending | undefined> {
  const { __urn: urn } = hiddenOf(inputs);
  if (urn === undefined) return undefined;
  const seen = call.session.memory.of(urn);
  const { placeholder, placeholderAt } = seen;
  if (placeholder !== undefined)
    requireRecordedEndpoint(call, placeholderId(placeholder), { __endpoint: placeholderAt });
  const entry = await call.session.journal.read(urn);
  if (entry === undefined || isHeld(entry, { ...seen, ...(placeholder && { key: undefined }) }))
    return placeholder;
  if (placeholder === undefined || placeholder.key === entry.key) return { ...placeholder, ...entry };
  const [later, earlier] = (placeholder.at ?? 0) > entry.at ? [placeholder, entry] : [entry, placeholder];
  await settle(call, inputs, earlier);
  if (earlier === entry) await call.session.journal.remove(urn, entry.key);
  return later;
}

/**
 * Settles what the journal has of a resource, where that is not what the state holds: a replacement that was cut off, and that
 * nobody asks for any more.
 */
export async function settleLeftOver(call: Call, id: string, state: Properties, urn?: string): Promise<void> {
  const { journal, memory } = call.session;
  const entry = urn === undefined ? undefined : await journal.read(urn);
  if (urn === undefined || entry === undefined) return;
  const { __key: key } = hiddenOf(state);
  if (!isHeld(entry, { key, id, operation: pendingOf(state)?.operation?.id })) {
    if (entry.id !== undefined && memory.isLive(entry.id)) return;
    await settle(call, { __urn: urn, project: state.project }, entry);
  }
  await journal.remove(urn, entry.key);
}

/**
 * Brings a creation that nobody wants any more to its end, and deletes what it made, unless that is what a resource now is.
 *
 * @throws CloudInfraError, never PartialState: the resource at hand is another, and its state stays as it is
 */
export function settle(call: Call, inputs: Properties, pending: Pending): Promise<void> {
  return call.progress.during("waiting for the end of a creation that was cut off", () =>
    brought(call, inputs, pending),
  );
}

async function brought(call: Call, inputs: Properties, pending: Pending): Promise<void> {
  const end = await carryOut(call, inputs, pending, true).catch((error: unknown) => {
    if (!(error instanceof PartialState)) throw error;
    const hint = `${advice(error.why, call.session.settings.profile)}it is about a creation that was cut off, whose object is to be deleted: run the command again`;
    throw withDetails(error.why, { hint });
  });
  const object = end.kind === "key spent" ? undefined : end.object;
  if (object !== undefined) await removeObject(call, object.id, sentFields(pending).project);
}

/**
 * Makes the result of a cut-off creation what the program asks for now: updates it in place, or deletes it where it would have
 * to be replaced.
 *
 * @returns the outputs, or `undefined` where the object had to go
 * @throws CloudInfraError `key_expired` where what it was asked for is not known any more: then nothing is taken or deleted
 */
export async function fitted(
  call: Call,
  object: ApiObject,
  { body = "" }: Pending,
  inputs: Properties,
): Promise<Properties | undefined> {
  const { fields } = call.kind;
  const sent = fieldsSent(body);
  if (sent === undefined) throw wishUnknown(call, object);
  const made = Object.fromEntries(fields.map(({ name, wire }) => [name, sent[wire]]));
  const changed = changedFields(fields, made, inputs);
  if (changed.some(({ change }) => change === "replace")) {
    await removeObject(call, object.id, made.project);
    return undefined;
  }
  const state = outputsOfNew(call, object, inputs, made);
  if (changed.length === 0 && isDeepStrictEqual(valuesOf(call, inputs), valuesOf(call, made))) return state;
  try {
    return (await update(call, object.id, state, inputs)).outs;
  } catch (error) {
    if (!isCloudInfraError(error) || error instanceof PartialState) throw error; // that one knows of the update's operation
    throw new PartialState(error, object.id, state, "the object is in the state: run `pulumi up` again");
  }
}
