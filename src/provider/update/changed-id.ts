import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { isSameName, plainCharacters } from "../../model/names";
import { isSameMoment } from "../../model/outputs";
import type { Pending } from "../../model/pending";
import type { Recorded } from "../../model/state";
import { isFailure, isSuccess, type Operation } from "../../polling/wait";
import { findFresh, isConfirmedAbsence, noLongerExists, requireObject } from "../absence";
import { type Context, fetchOperation, identityOf, objectRefOf } from "../context";
import { isDeleted } from "../lookup/object-getter";
import { PartialState } from "../partial-state";

/** The id in the reply or the operation of an update. `isProof` means that the id can't belong to a different object. */
export interface ReportedId {
  readonly id: string | undefined;
  readonly isProof: boolean;
}

/** Reports whether an update of unknown outcome has requested a new name. Some services derive ids from names. */
export function mayBeRenamed({ name }: Recorded, { asked = {} }: Pending): boolean {
  return typeof asked.name === "string" && asked.name !== name;
}

/** The maximum number of characters of a name that a derived id contains. */
const MAX_NAME_CHARACTERS = 20;

/**
 * Reports whether an id may be derived from a name, because the id contains the Latin letters and digits of the name. An id may also be a
 * transliteration of the name. Generated ids contain digits.
 */
function mayBeDerivedFrom(id: string, name: unknown): boolean {
  const plain = plainCharacters(name).slice(0, MAX_NAME_CHARACTERS);
  return plain === "" ? !/\d/.test(id) : plainCharacters(id).includes(plain);
}

/** Reads an object that must exist. If a rename has changed its id, a different object that now has the former id is ignored. */
export async function presentUnlessRenamed(context: Context, id: string, state: Recorded, pending: Pending) {
  const object = await requireObject(context, id, state);
  if (mayBeRenamed(state, pending) && isOtherObject(object, state)) throw noLongerExists(context, id);
  return object;
}

/** Returns the new id in the reply or the operation of an update, if there is an object with that id. */
export async function findUnderReportedId(
  context: Context,
  { id, state, pending, reported }: Rename,
): Promise<string | undefined> {
  const other = reported?.isProof ? reported.id : undefined;
  if (other === undefined || other === id || !mayBeRenamed(state, pending)) return undefined;
  const found = await findFresh(context, objectRefOf(context.kind, other, state));
  return found && other;
}

/** An update that may have changed the id of an object. */
interface Rename {
  readonly id: string;
  readonly state: Recorded;
  readonly pending: Pending;
  readonly reported?: ReportedId | undefined;
}

/** Returns the error for an object that isn't found after an update. If its id may have changed, the state keeps the object. */
export async function errorAfterRename(
  context: Context,
  error: CloudInfraError,
  { id, state, pending, reported }: Rename,
): Promise<CloudInfraError> {
  if (!isConfirmedAbsence(error) || !mayBeRenamed(state, pending)) return error;
  const renamed = await findRenamed(context, id, state, pending, reported);
  if (renamed === undefined) return error;
  const { id: other, named } = renamed;
  if (other !== undefined) return foundUnderOtherId(context, other, { id, state, pending });
  const unclear = notFound(context, id, named);
  return new PartialState(unclear, id, { ...state, pending }, unclear.hint ?? "");
}

/** Returns the error for an object that was found with a different id. The state records the new id. */
export function foundUnderOtherId(
  context: Context,
  other: string,
  { id, state, pending }: Rename,
): PartialState {
  return otherIdError(context, id, other, { ...state, pending: { ...pending, otherId: other } });
}

/** Returns the error for an object whose id was changed by an update. */
export function otherIdError({ kind }: Context, id: string, other: string, outs: Recorded): PartialState {
  const message = `the id of ${kind.name} ${id} changed with its new name, to ${other}`;
  const hint =
    `Don't recreate it: it exists under the id ${other}. To adopt it, run \`pulumi state delete <urn>\`, set the \`import\` option ` +
    `to "${other}", and run \`pulumi up\``;
  return new PartialState(new CloudInfraError("not_found", message), id, outs, hint);
}

function notFound({ kind: { name } }: Context, id: string, named: readonly string[]): CloudInfraError {
  const shown =
    named.length === 0
      ? "no object with that name, but the list may be outdated"
      : `${named.join(", ")} with that name`;
  const hint =
    `Check in the service whether the ${name} has a different id since its name changed: the list contains ${shown}. ` +
    "If it does, run `pulumi state delete <urn>`, set the `import` option to that id, and run `pulumi up`. " +
    "If it no longer exists, run `pulumi state delete <urn>`, then `pulumi up` to recreate it";
  const message = `${name} ${id} can't be found after an update of its name`;
  return new CloudInfraError("not_found", message, { hint });
}

/**
 * Returns the id of an object to delete, after an update that may have changed the id.
 *
 * @throws CloudInfraError `not_found` if only the name identifies the object
 */
export async function idAfterRename(context: Context, id: string, state: Recorded): Promise<string> {
  const pending = state.pending;
  if (pending?.otherId !== undefined) return chooseId(context, id, pending.otherId, state);
  if (pending === undefined || !mayBeRenamed(state, pending)) return id;
  const ended = pending.operation && (await fetchOperation(context, pending.operation));
  const reported = { id: resultOf(context, ended), isProof: true };
  const elsewhere = await findUnderReportedId(context, { id, state, pending, reported });
  if (elsewhere !== undefined) return elsewhere;
  const object = await findFresh(context, objectRefOf(context.kind, id, state));
  if (object !== undefined && !isOtherObject(object, state)) return id;
  const { id: other, named } = (await findRenamed(context, id, state, pending)) ?? { named: [] };
  if (other !== undefined || (named.length === 0 && object === undefined)) return other ?? id;
  throw notFound(context, id, named);
}

async function chooseId(context: Context, id: string, other: string, state: Recorded): Promise<string> {
  if ((await findFresh(context, objectRefOf(context.kind, other, state))) !== undefined) return other;
  const former = await findFresh(context, objectRefOf(context.kind, id, state));
  if (former === undefined) return other;
  if (isSameObject(former, state)) return id;
  const { name } = context.kind;
  const message = `${name} ${other} can't be found, and ${id} may now be a different ${name}`;
  const hint = `Check in the service whether ${id} is still the ${name} of this resource. If so, delete the object in the service. Then run \`pulumi state delete <urn>\``;
  throw new CloudInfraError("not_found", message, { hint });
}

/** Reports whether an object is the recorded object, because a different object may get the former id after a rename. */
export function isSameObject({ fields }: ApiObject, state: Recorded): boolean {
  return isSameMoment(fields.created_at, state.createdAt);
}

/** Reports whether an object is certainly a different object, because its id may have been reused and its creation date differs. */
export function isOtherObject({ id, fields }: ApiObject, { name, createdAt }: Recorded): boolean {
  const isKnown = isSameMoment(createdAt, createdAt) && isSameMoment(fields.created_at, fields.created_at);
  return isKnown && mayBeDerivedFrom(id, name) && !isSameMoment(fields.created_at, createdAt);
}

/** Returns the id in the operation of an update, if the operation has succeeded. */
function resultOf({ session }: Context, ended: Operation | undefined): string | undefined {
  return ended && isSuccess(ended) ? session.client.resultId(ended) : undefined;
}

/** The new id of an object, if the id is certain, and the ids of all objects with the new name. */
interface RenamedObject {
  readonly id?: string | undefined;
  readonly named: readonly string[];
}

/**
 * Looks up an object whose id may have changed together with its name. Names and creation dates are not unique. An object matches if the
 * reply or the operation of the update contains its id. Unless the update has failed, an object with the same creation date also matches.
 *
 * @returns `undefined` if the id can't have changed, because it isn't derived from the name
 */
export async function findRenamed(
  context: Context,
  id: string,
  state: Recorded,
  pending: Pending,
  reported?: ReportedId,
): Promise<RenamedObject | undefined> {
  const { finder, tracker } = context.session;
  const { asked, operation, isUnsure = false } = pending;
  const ended = operation && (await fetchOperation(context, operation));
  const mayHaveSucceeded = !isUnsure && !(ended && isFailure(ended));
  const { id: other, isProof } = reported ?? { id: resultOf(context, ended), isProof: true };
  const isOther = other !== undefined && other !== id;
  if (isProof && isOther) return { id: other, named: [] };
  if (!isOther && !mayBeDerivedFrom(id, state.name)) return undefined;
  const objects = await finder.list(objectRefOf(context.kind, id, state), "recent", context);
  const named = [...objects.values()].filter(
    (object) =>
      object.id !== id &&
      (object.id === other || isSameName(object.fields.name, asked?.name)) &&
      !isDeleted(object) &&
      tracker.liveOwner(identityOf(context, object.id)) === undefined,
  );
  const same = named.filter(
    (object) => object.id === other || (mayHaveSucceeded && isSameObject(object, state)),
  );
  return { id: same.length === 1 ? same[0]?.id : undefined, named: named.map((object) => object.id) };
}
