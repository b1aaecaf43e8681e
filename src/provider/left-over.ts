import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../api/client";
import { isCloudInfraError } from "../diagnostics/error";
import { type Call, valuesOf } from "./call";
import { carryOut } from "./carry-out";
import { changedFields } from "./diff";
import type { Properties } from "./host";
import type { Seen } from "./memory";
import { outputsOfNew } from "./outputs";
import { PartialState } from "./partial";
import type { Pending } from "./pending";
import { removeObject } from "./removal";
import { hiddenOf } from "./state";
import { update } from "./update";

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
  const { placeholder } = seen;
  const entry = await call.session.journal.read(urn);
  if (entry === undefined || isHeld(entry, { ...seen, ...(placeholder && { key: undefined }) }))
    return placeholder;
  if (placeholder === undefined || placeholder.key === entry.key) return { ...placeholder, ...entry };
  const [later, earlier] = (placeholder.at ?? 0) > entry.at ? [placeholder, entry] : [entry, placeholder];
  await settle(call, inputs, earlier);
  return later;
}

/** Brings a creation that nobody wants any more to its end, and deletes what it made, unless that is what a resource now is. */
export async function settle(call: Call, inputs: Properties, pending: Pending): Promise<void> {
  const end = await carryOut(call, inputs, pending, true);
  const object = end.kind === "key spent" ? undefined : end.object;
  if (object !== undefined) await removeObject(call, object.id, inputs.project);
}

/**
 * Makes the result of a cut-off creation what the program asks for now: updates it in place, or deletes it where it would have
 * to be replaced.
 *
 * @returns the outputs, or `undefined` where the object had to go
 */
export async function fitted(
  call: Call,
  object: ApiObject,
  body: string,
  inputs: Properties,
): Promise<Properties | undefined> {
  const { fields } = call.kind;
  const sent: Properties = JSON.parse(body);
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
    if (!isCloudInfraError(error)) throw error;
    throw new PartialState(error, object.id, state, "the object is in the state: run `pulumi up` again");
  }
}
