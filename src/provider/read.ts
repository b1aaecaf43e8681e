import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { sameValue } from "../model/changes";
import { compareRemoteValues, type DriftResult } from "../model/drift";
import { omittedFields, outputsOf, unlessEmpty, withRemovedFields } from "../model/outputs";
import { isPlaceholder, type Pending } from "../model/pending";
import { hasSameCharacters } from "../model/property-comparison";
import { toProgramValue, withRecordedKeyCase } from "../model/remote-values";
import { type Arguments, type Field, projectKind, type RemoteValues } from "../model/resource-fields";
import { type Desired, desired, type Recorded, savedInputsOf } from "../model/state";
import { isFailure, isSuccess, isTerminal, type Operation } from "../polling/wait";
import {
  findCreated,
  findListed,
  findNamedByOperation,
  findOrAbsent,
  findOrConfirmAbsence,
  forgetDeletionRequest,
} from "./absence";
import {
  argumentsOf,
  type Context,
  fetchOperation,
  hasRevisionOf,
  objectRefOf,
  requireRecordedEndpoint,
} from "./context";
import { outputsOfCreation } from "./create/completion";
import { isFinishedOrGivenUp, removeEntryOf, withJournal } from "./create/unfinished";
import { confirmCreated, isIdReused } from "./reused-ids";
import { findRenamed, isOtherObject, isSameObject, mayBeRenamed } from "./update/changed-id";
import { compareRequested } from "./update/unfinished";
import { warnOfSameNamed } from "./warnings";

/** A resource after a refresh. */
export interface FoundResource {
  readonly id: string;
  readonly props: Recorded;
  readonly inputs: Desired;
}

/**
 * Refreshes a resource. Drifted inputs get their remote values, so that the next `up` displays the drift and reverts it.
 *
 * @returns `undefined` if the object no longer exists
 * @throws CloudInfraError `not_found` if the first read of a `get` doesn't find the object
 */
export async function read(
  initial: Context,
  id: string,
  state: Recorded,
): Promise<FoundResource | undefined> {
  requireRecordedEndpoint(initial, id, state);
  const context = withRecordedKeyCase(initial, state);
  if (isPlaceholder(id) && isFirstLookup(state)) return notFound(context, id, state);
  const pending = state.pending;
  const { resultId } = context.session.client;
  if (isPlaceholder(id) || pending?.key !== undefined) {
    const found = await readUnfinishedCreation(context, id, state, pending);
    if (found === undefined) await context.session.journal.remove(pending?.key);
    return found;
  }
  const { otherId, ...others } = pending ?? {};
  // A different object may now have the former id.
  if (otherId !== undefined && (await lookUp(context, otherId, state)) !== undefined)
    return read(context, otherId, { ...state, pending: others });
  const operation = pending?.operation && (await fetchOperation(context, pending.operation));
  const mayHaveOther = pending !== undefined && otherId === undefined && mayBeRenamed(state, pending);
  const result = mayHaveOther && operation && isSuccess(operation) ? resultId(operation) : undefined;
  if (result !== undefined && result !== id && (await lookUp(context, result, state)) !== undefined)
    return read(context, result, state);
  const object = await lookUp(context, id, state);
  const isAbsent = object === undefined || (mayHaveOther && result !== id && isOtherObject(object, state));
  if (isAbsent) return mayHaveOther ? readRenamed(context, id, state, pending) : notFound(context, id, state);
  if (otherId !== undefined && !isSameObject(object, state)) return resource(context, id, state);
  if (isManaged(state) && (await isIdReused(context, objectRefOf(context.kind, id, state), object, state)))
    return notFound(context, id, state);
  const whole = object.isFromOwnUrl ? object : await completeIfChanged(context, object, state);
  if (!isManaged(state)) return externalState(context, whole, state);
  const now = withRemovedFields(context.kind.fields, whole, state);
  if (pending === undefined) return refreshedState(context, now, state);
  const isOver = pending.operation === undefined || (operation !== undefined && isTerminal(operation));
  if (isOver) return readAfterUpdate(context, now, state, pending, operation);
  // The operation may still fail, so the state doesn't contain the requested values yet.
  const { asked = {} } = pending;
  const open = context.kind.fields.filter(({ name }) => Object.hasOwn(asked, name));
  const absent = Object.fromEntries(open.map(({ wire }) => [wire, undefined]));
  const unchanged = { ...now, fields: { ...now.fields, ...absent }, isFromOwnUrl: false };
  const seen = refreshedState(context, unchanged, state);
  // The state keeps the former revision, because the object may already have the revision with which the update ends. An operation that
  // isn't found may also still be running (E2).
  return { ...seen, props: { ...seen.props, pending: state.pending, revision: state.revision } };
}

/**
 * Records in the state the values that an update of unknown outcome has set. The service may still set other values. After a failed
 * operation, the state keeps only the requested values that the service doesn't return, because the operation may have set them.
 */
function readAfterUpdate(
  context: Context,
  object: ApiObject,
  state: Recorded,
  { operation: _, otherId: __, ...pending }: Pending,
  operation: Operation | undefined,
): FoundResource {
  const { made, unapplied = {} } = compareRequested(context, state, pending, object);
  const seen = refreshedState(context, object, { ...state, ...made });
  const hasFailed = operation !== undefined && isFailure(operation);
  // If the state contains no value, the service may omit the empty field.
  const isHidden = ({ name, wire }: Field): boolean =>
    (object.fields[wire] ?? null) === null && state[name] !== undefined;
  const open = context.kind.fields.filter(
    (field) => Object.hasOwn(unapplied, field.name) && (!hasFailed || isHidden(field)),
  );
  if (open.length === 0) return seen;
  const left = Object.fromEntries(open.map(({ name }) => [name, unapplied[name]]));
  const marks = pending.isUnsure ? marksForRequested(context, left, { before: state, now: seen.props }) : {};
  const applied = unlessEmpty({ ...marks, ...seen.props.applied });
  return { ...seen, props: { ...seen.props, applied, pending: { ...pending, asked: left } } };
}

/**
 * Marks the requested properties whose remote values have changed. If a later update with the same value doesn't change the remote
 * value, it is a normalized form of the requested value.
 */
function marksForRequested(
  { kind }: Context,
  asked: RemoteValues,
  { before, now }: { readonly before: Recorded; readonly now: Recorded },
): RemoteValues {
  const { applied: marks = {}, unmanaged: others = {} } = before;
  const { unmanaged: othersNow = {} } = now;
  const hasMoved = (field: Field): boolean =>
    !sameValue(field, before[field.name], now[field.name]) ||
    (othersNow[field.name] !== undefined && othersNow[field.name] !== others[field.name]);
  const moved = kind.fields.filter(
    (field) =>
      field.type !== "labels" &&
      (asked[field.name] ?? undefined) !== undefined &&
      (Object.hasOwn(marks, field.name) || hasMoved(field)),
  );
  return Object.fromEntries(moved.map(({ name }) => [name, { value: asked[name] }]));
}

async function lookUp(context: Context, id: string, state: Recorded): Promise<ApiObject | undefined> {
  const { finder, settings } = context.session;
  const ref = objectRefOf(context.kind, id, state);
  // The state contains no values yet, and a list may omit or normalize values (§2.1, §4.4).
  const isAlone = isFirstLookup(state) || state.pending?.key !== undefined;
  const first = await (isAlone ? finder.find(ref, context) : finder.findRecent(ref, context));
  // For a `get`, two checks are sufficient, because a wrong result has no consequences for the object.
  const find = isManaged(state) ? findOrConfirmAbsence : findOrAbsent;
  const found = await find(context, ref, first);
  if (found !== undefined && isManaged(state) && ref.kind === projectKind)
    await forgetDeletionRequest(context, id);
  const isNew = state.keyAt !== undefined && Date.now() - state.keyAt < NEW_MS;
  const object = found === undefined && isNew ? await findListed(context, ref) : found;
  // If only the ETag header contains the actual revision, a field of a list item has a different meaning. List items have no ETag header.
  const isOther = state.isRevisionInHeader && settings.revisionField === undefined;
  return object && isOther && !object.isFromOwnUrl ? { ...object, revision: undefined } : object;
}

/** The time for which an object is new, in milliseconds. The creation of an object may take a part of this time. */
const NEW_MS = 60 * 60_000;

const isManaged = (state: Recorded): boolean => state.key !== undefined;

/** Reports whether this is the first read of a `get`. The engine passes inputs to the first read, and outputs to later reads. */
const isFirstLookup = (state: Recorded): boolean => !isManaged(state) && state.endpoint === undefined;

/** Handles an object that no longer exists. The journal may still contain its creation. */
async function notFound(context: Context, id: string, state: Recorded): Promise<undefined> {
  const { kind } = context;
  if (!isFirstLookup(state)) {
    await removeEntryOf(context, state.key, id);
    return undefined;
  }
  // A different stack may have exported the placeholder id of an unfinished creation.
  const hint = isPlaceholder(id)
    ? `Run \`pulumi up\` in the stack that creates the ${kind.name}, and use the new id`
    : undefined;
  throw new CloudInfraError("not_found", `${kind.name} ${id} doesn't exist`, { hint });
}

/** Handles an object that isn't found by its id. If an update may have changed the id, the object stays in the state. */
async function readRenamed(
  context: Context,
  id: string,
  state: Recorded,
  pending: Pending,
): Promise<FoundResource | undefined> {
  const found = await findRenamed(context, id, state, pending);
  if (found === undefined) return notFound(context, id, state);
  const { id: other } = found;
  const isShown = other !== undefined && (await lookUp(context, other, state)) !== undefined;
  return isShown ? read(context, other, state) : resource(context, id, state);
}

/**
 * Reads the result of an unfinished creation. If the creation succeeded, the resource gets the id of the object. If the creation failed
 * without an object, the resource is removed. If it failed and left its object behind, the next `up` replaces the object.
 */
async function readUnfinishedCreation(
  context: Context,
  id: string,
  state: Recorded,
  recorded: Pending = {},
): Promise<FoundResource | undefined> {
  const { journal, client } = context.session;
  const pending = isPlaceholder(id) ? await withJournal(context, recorded, state.key) : recorded;
  const unchanged = resource(context, id, state);
  const { operation, failed } = pending;
  const seen = operation && (await fetchOperation(context, operation));
  const isUnknown = seen === undefined && (isPlaceholder(id) || (operation !== undefined && !failed));
  const isRunning = seen !== undefined && !isTerminal(seen) && !failed;
  if (isRunning || (isUnknown && isPlaceholder(id))) return unchanged;
  // The next `up` decides about an object that may be in use, that is being deleted, or that the user has given up.
  const isUndecided = async (): Promise<boolean> =>
    pending.isLate ||
    (await journal.isMarked(pending.key, "discarded")) ||
    isFinishedOrGivenUp(context, pending);
  if (isPlaceholder(id) && (await isUndecided())) return unchanged;
  // The operation may have contained a different id while it was running.
  const reported = failed || seen === undefined ? undefined : client.resultId(seen);
  const real = reported ?? (isPlaceholder(id) ? undefined : id);
  const hasFailed = failed === true || (seen !== undefined && isFailure(seen));
  const isMade = seen !== undefined && !hasFailed;
  if (real === undefined) {
    if (isMade) return unchanged;
    await warnOfSameNamed(context, unchanged.inputs, pending);
    return undefined;
  }
  if (isPlaceholder(id) && pending.imported?.includes(real)) return unchanged; // another resource manages the object
  const ref = objectRefOf(context.kind, real, state);
  const left = hasFailed ? await findNamedByOperation(context, ref) : undefined;
  const object = isMade ? await findCreated(context, ref) : (left ?? (await lookUp(context, real, state)));
  // If the outcome of the creation is unknown, a missing object may still be created.
  if (object === undefined) return isUnknown || isMade ? unchanged : undefined;
  // Without an operation, the id comes from the reply to the creation request.
  const mayBeOther = operation !== undefined || failed;
  const match = mayBeOther ? await confirmCreated(context, object, pending, seen, state.key) : "same";
  const isKept = match === "unclear" || (match === "different" && isMade && isPlaceholder(id));
  if (match !== "same") return isKept ? unchanged : undefined;
  await journal.extend(pending.key, { id: real });
  const outs = hasFailed
    ? { ...state, pending: { ...state.pending, failed: true } }
    : outputsOfCreation(context, object, state);
  return resource(context, real, outs);
}

function resource(
  context: Context,
  id: string,
  props: Recorded,
  args: Arguments = argumentsOf(context, props),
): FoundResource {
  return { id, props, inputs: desired({ ...savedInputsOf(props), ...args }) };
}

/**
 * Reads an object from its own URL if the list item differs from the state, because a list may lag, and may omit or normalize values. With
 * the recorded revision, omitted values are unchanged.
 */
async function completeIfChanged(context: Context, item: ApiObject, state: Recorded): Promise<ApiObject> {
  const { fields } = context.kind;
  const compared = compareWithState(context, item, state);
  const { drifted, omitted } = compared;
  const { ipAddress, revision } = refreshedState(context, item, state, compared).props;
  const isSame = drifted.length === 0 && ipAddress === state.ipAddress;
  const isRevisionLost = revision === undefined && state.revision !== undefined;
  const isWhole = omitted.length === 0 && omittedFields(fields, item, state).length === 0 && !isRevisionLost;
  if (isSame && (isWhole || hasRevisionOf(item, state))) return item;
  return context.session.finder.gets.complete(item, objectRefOf(context.kind, item.id, state), context);
}

function compareWithState(context: Context, object: ApiObject, state: Recorded): DriftResult {
  const { remoteValues = {}, applied = {}, isEcho, ipAddress } = state;
  const isSame = isManaged(state) && hasRevisionOf(object, state);
  // Before the first read, only the reply to the creation request contains the object. If the object has been read only from a list, its
  // own URL may return the same values in a different form. A value that can't change in place never changes at the same revision. Another
  // user may have renamed a project, but a reference such as the region can't change.
  const isEchoed = ({ name, wire }: Field): boolean =>
    isEcho === true &&
    (name !== "name" || hasSameCharacters({ now: object.fields[wire], desired: state.name }));
  const isOtherForm = (field: Field): boolean =>
    field.change === "replace" ? isEchoed(field) || isSame : isSame && !isEcho && state.shown === undefined;
  const values = argumentsOf(context, state);
  const known = { values, remoteValues, applied, isOtherForm, ipAddress };
  // A list may contain the same values in a different form. The state keeps the form of the object's own URL.
  if (!object.isFromOwnUrl && !isEcho && isSame) return { ...known, drifted: [], omitted: [] };
  return compareRemoteValues(context.kind.fields, known, object.fields);
}

function refreshedState(
  context: Context,
  object: ApiObject,
  state: Recorded,
  compared: DriftResult = compareWithState(context, object, state),
): FoundResource {
  const { values, remoteValues, applied } = compared;
  const props = outputsOf(context, object, { hidden: state, values, remoteValues, applied, before: state });
  const { unmanaged, shown, keepsCase } = hasRevisionOf(object, state) ? state : props;
  return resource(context, object.id, { ...props, unmanaged, shown, keepsCase }, values);
}

/** Returns the state of a `get` or the result of a function, with the remote values. A missing value is removed only if the reply comes from the object's own URL. */
export function externalState(context: Context, object: ApiObject, state: Recorded): FoundResource {
  const shown = (field: Field): unknown => {
    const remote = object.fields[field.wire];
    return remote === undefined && !object.isFromOwnUrl ? state[field.name] : toProgramValue(field, remote);
  };
  const values = Object.fromEntries(context.kind.fields.map((field) => [field.name, shown(field)]));
  const props = outputsOf(context, object, { hidden: state, values, remoteValues: {}, before: state });
  return resource(context, object.id, props, {});
}
