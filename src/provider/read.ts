import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { isFailure, isSuccess, isTerminal, type Operation } from "../operations/operation";
import { type Call, requireRecordedEndpoint, soughtOf, valuesOf } from "./call";
import { lookAt } from "./creation/being-made";
import { outputsOfMade } from "./creation/completion";
import { note } from "./creation/note";
import { isPlaceholder, type Pending, pendingOf } from "./creation/pending";
import type { Properties, ReadAnswer } from "./host";
import { findOrAbsent } from "./looks/absence";
import { findMade, findNamed, findOfCreation } from "./looks/see-again";
import { settleAsked } from "./updates/asked";
import { findRenamed, isOther, isSame, mayBeRenamed } from "./updates/renamed";
import { type Field, sameValue } from "./values/fields";
import { withKnownKeys } from "./values/label-keys";
import { outputsOf, unlessEmpty } from "./values/outputs";
import { plain } from "./values/plain";
import { withRemoved } from "./values/removed";
import { hiddenInputs, hiddenOf } from "./values/state";
import { asValue, compareWords, type Sighting } from "./values/words";

/**
 * Reads an object for a refresh: outputs, and the inputs as they are at the service, so that the next `up` shows drift and removes
 * it. The answer is empty if the object no longer exists; only the first `get` of such an object is an error.
 */
export async function read(caller: Call, id: string, state: Properties): Promise<ReadAnswer> {
  requireRecordedEndpoint(caller, id, state);
  const call = withKnownKeys(caller, state);
  if (isPlaceholder(id)) return readPlaceholder(call, id, state);
  const pending = pendingOf(state);
  const { resultId } = call.session.client;
  if (pending?.key !== undefined) return readUnfinished(call, id, state, pending);
  const { otherId, ...others } = pending ?? {};
  // Somebody else's object may have the former id by now.
  if (otherId !== undefined && (await look(call, otherId, state)) !== undefined)
    return read(call, otherId, { ...state, __pending: others });
  const operation = pending?.operation && (await lookAt(call, pending.operation));
  const mayHaveOther = pending !== undefined && otherId === undefined && mayBeRenamed(state, pending);
  const result = mayHaveOther && operation && isSuccess(operation) ? resultId(operation) : undefined;
  if (result !== undefined && result !== id && (await look(call, result, state)) !== undefined)
    return read(call, result, state);
  const object = await look(call, id, state);
  const isAbsent = object === undefined || (mayHaveOther && result !== id && isOther(object, state));
  if (isAbsent) return mayHaveOther ? renamed(call, id, state, pending) : gone(call, id, state);
  if (otherId !== undefined && !isSame(object, state))
    return { id, props: state, inputs: inputsOf(call, state) };
  const whole = object.isAlone ? object : await beyondTheList(call, object, state);
  if (!isManaged(state)) return lookedUp(call, whole, state);
  const now = withRemoved(call.kind.fields, whole, state);
  if (pending === undefined) return refreshed(call, now, state);
  const isOver = pending.operation === undefined || (operation !== undefined && isTerminal(operation));
  if (isOver) return settled(call, now, state, pending, operation);
  // The operation may fail, so that what the update asks for is not there in the end.
  const seen = refreshed(call, withoutAsked(call, now, pending), state);
  // An update that may be in progress may end under the revision that is shown already: only the former one is safe. An operation that
  // can't be found may be in progress, too (E2).
  const { __pending, revision } = state;
  return { ...seen, props: plain({ ...seen.props, __pending, revision }) };
}

/** What an update of unknown outcome has made is the program's. The service may still make the rest, unless its operation has failed. */
function settled(
  call: Call,
  object: ApiObject,
  state: Properties,
  { operation: _, otherId: __, ...pending }: Pending,
  operation: Operation | undefined,
): Found {
  const { made, left } = settleAsked(call, state, pending, object);
  const seen = refreshed(call, object, { ...state, ...made });
  if (left === undefined || (operation !== undefined && isFailure(operation))) return seen;
  const marks = pending.isUnsure === true ? marksFor(call, left, { before: state, now: seen.props }) : {};
  const __applied = unlessEmpty({ ...marks, ...hiddenOf(seen.props).__applied });
  return { ...seen, props: plain({ ...seen.props, __applied, __pending: { ...pending, asked: left } }) };
}

/**
 * What an update may have set, if the service shows another value there than before. That may be its word for what the update asked for: if it
 * accepts the same again without a change of the revision, it is.
 */
function marksFor({ kind }: Call, asked: Properties, { before, now }: Seen): Properties {
  const { __applied: marks = {}, __unmanaged: others = {} } = hiddenOf(before);
  const { __unmanaged: othersNow = {} } = hiddenOf(now);
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

/** The state before a refresh, and after it. */
interface Seen {
  readonly before: Properties;
  readonly now: Properties;
}

async function look(call: Call, id: string, state: Properties): Promise<ApiObject | undefined> {
  const { sightings } = call.session;
  const sought = soughtOf(call.kind, id, state);
  // A list may omit values (§2.1, §4.4) or spell them in another way, and nothing else of the object is known yet.
  const isAlone = isFirstLookup(state) || pendingOf(state)?.key !== undefined;
  const first = await (isAlone ? sightings.fresh(sought, call) : sightings.recent(sought, call));
  // Nothing is lost with a lookup, so that two checks are enough.
  const find = isManaged(state) ? findOrAbsent : findOfCreation;
  const object = await find(call, sought, first);
  return object && withoutOtherField(call, object, state);
}

/** An object from a list, which shows no ETag, without the field that isn't its revision. */
function withoutOtherField({ session }: Call, object: ApiObject, state: Properties): ApiObject {
  const isOther = hiddenOf(state).__inHeader && session.settings.revisionField === undefined;
  return isOther && !object.isAlone ? { ...object, revision: undefined } : object;
}

const isManaged = (state: Properties): boolean => hiddenOf(state).__key !== undefined;

/** The engine reads a `get` with its inputs alone, and refreshes it with what was read before. */
const isFirstLookup = (state: Properties): boolean =>
  !isManaged(state) && hiddenOf(state).__endpoint === undefined;

function gone({ kind }: Call, id: string, state: Properties): Record<string, never> {
  if (!isFirstLookup(state)) return {};
  throw new CloudInfraError("not_found", `there is no ${kind.name} ${id}`);
}

/** Reads an object that isn't found under its id. If an update may have given it another one, it is never removed from the state. */
async function renamed(call: Call, id: string, state: Properties, pending: Pending): Promise<ReadAnswer> {
  const found = await findRenamed(call, id, state, pending);
  if (found === undefined) return gone(call, id, state);
  const { id: other } = found;
  const isShown = other !== undefined && (await look(call, other, state)) !== undefined;
  return isShown ? read(call, other, state) : { id, props: state, inputs: inputsOf(call, state) };
}

/** A creation that is not known to have ended, of an object whose id is known. */
async function readUnfinished(
  call: Call,
  id: string,
  state: Properties,
  pending: Pending,
): Promise<ReadAnswer> {
  const unchanged = { id, props: state, inputs: inputsOf(call, state) };
  const { operation, failed } = pending;
  const seen = operation && !failed ? await lookAt(call, operation) : undefined;
  if (seen !== undefined && !isTerminal(seen)) return unchanged;
  const isMade = seen !== undefined && isSuccess(seen);
  // A running operation may have named another object than it does in the end.
  const real = (isMade ? call.session.client.resultId(seen) : undefined) ?? id;
  await note(call, pending, { id: real });
  const hasFailed = failed || (seen !== undefined && isFailure(seen));
  const find = isMade ? findCreated : hasFailed ? findLeft : look;
  const object = await find(call, real, state);
  const isUnknown = operation !== undefined && !failed && seen === undefined;
  // If nobody can tell how the creation ended, an object that doesn't show may still be created.
  if (object === undefined) return isUnknown || isMade ? unchanged : {};
  if (hasFailed) return markedAsFailed(unchanged, pending);
  return finished(call, object, real, state);
}

/** The object of a creation that has succeeded. */
function findCreated(call: Call, id: string, state: Properties): Promise<ApiObject | undefined> {
  return findMade(call, soughtOf(call.kind, id, state));
}

/** What a failed creation has left behind. */
async function findLeft(call: Call, id: string, state: Properties): Promise<ApiObject | undefined> {
  return (await findNamed(call, soughtOf(call.kind, id, state))) ?? look(call, id, state);
}

/** A creation that has succeeded. */
function finished(call: Call, object: ApiObject, id: string, state: Properties): Found {
  const props = outputsOfMade(call, object, state);
  return { id, props, inputs: inputsOf(call, props) };
}

/** What a failed creation has left behind is kept, so that the next `up` replaces it. */
function markedAsFailed(found: Found, pending: Pending): Found {
  return { ...found, props: plain({ ...found.props, __pending: { ...pending, failed: true } }) };
}

/** A creation of an object whose id is not known: once it is done, the resource gets that id; if it failed and left nothing, it is removed. */
async function readPlaceholder(call: Call, id: string, state: Properties): Promise<ReadAnswer> {
  const pending = pendingOf(state);
  const unchanged = { id, props: state, inputs: inputsOf(call, state) };
  const seen = pending?.operation && (await lookAt(call, pending.operation));
  if (pending === undefined || seen === undefined || !isTerminal(seen)) return unchanged;
  const real = call.session.client.resultId(seen);
  if (real === undefined) return isSuccess(seen) ? unchanged : {};
  const object = await (isSuccess(seen) ? findCreated : findLeft)(call, real, state);
  if (object === undefined) return isSuccess(seen) ? unchanged : {};
  await note(call, pending, { id: real });
  if (isFailure(seen)) return markedAsFailed({ ...unchanged, id: real }, pending);
  return finished(call, object, real, state);
}

function inputsOf(call: Call, state: Properties): Properties {
  return plain({ ...hiddenInputs(state), ...valuesOf(call, state) });
}

/**
 * A list may spell values in another way than an object by itself does, or leave some out: what looks changed there is looked
 * at by itself, and what does not show, unless the revision says that nothing has changed.
 */
async function beyondTheList(call: Call, item: ApiObject, state: Properties): Promise<ApiObject> {
  const { drifted, untold } = seenOf(call, item, state);
  if (drifted.length === 0 && (untold.length === 0 || isUnchanged(item, state))) return item;
  return call.session.sightings.completed(item, soughtOf(call.kind, item.id, state), call);
}

/** An object without the fields that an update may be changing. */
function withoutAsked({ kind }: Call, object: ApiObject, { asked = {} }: Pending): ApiObject {
  const open = kind.fields.filter(({ name }) => Object.hasOwn(asked, name)).map(({ wire }) => wire);
  const fields = Object.fromEntries(Object.entries(object.fields).filter(([wire]) => !open.includes(wire)));
  return { ...object, fields, isAlone: false };
}

/** Whether the object still has the revision that the state knows: then nobody has changed it (§4.5). */
function isUnchanged({ revision }: ApiObject, state: Properties): boolean {
  return revision !== undefined && revision === hiddenOf(state).revision;
}

function seenOf(call: Call, object: ApiObject, state: Properties): Sighting {
  const { __words: words = {}, __applied: applied = {}, __echoed: isEcho } = hiddenOf(state);
  const { ipAddress } = state;
  const known = { values: valuesOf(call, state), words, applied, isEcho, ipAddress };
  // A list may show the same values in another way.
  if (isManaged(state) && !object.isAlone && !isEcho && isUnchanged(object, state))
    return { ...known, drifted: [], untold: [] };
  return compareWords(call.kind.fields, known, object.fields);
}

function refreshed(call: Call, object: ApiObject, state: Properties): Found {
  const { values, words, applied } = seenOf(call, object, state);
  const props = outputsOf(call, object, { hidden: state, values, words, applied, before: state });
  return {
    id: object.id,
    props: isUnchanged(object, state)
      ? plain({
          ...props,
          __unmanaged: state.__unmanaged,
          __shown: state.__shown,
          __keepsCase: state.__keepsCase,
        })
      : props,
    inputs: plain({ ...hiddenInputs(state), ...values }),
  };
}

/** What a look has found. */
type Found = Extract<ReadAnswer, { id: string }>;

/** A resource that is only looked up shows the remote values. What any reply but that of its own address leaves out is as before. */
function lookedUp(call: Call, object: ApiObject, state: Properties): ReadAnswer {
  const shown = (field: Field): unknown => {
    const word = object.fields[field.wire];
    return word === undefined && !object.isAlone ? state[field.name] : asValue(field, word);
  };
  const values = Object.fromEntries(call.kind.fields.map((field) => [field.name, shown(field)]));
  return {
    id: object.id,
    props: outputsOf(call, object, { hidden: state, values, words: {}, before: state }),
    inputs: plain(hiddenInputs(state)),
  };
}
