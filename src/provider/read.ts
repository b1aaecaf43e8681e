import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { isFailure, isSuccess } from "../operations/operation";
import { type Call, requireRecordedEndpoint, soughtOf, valuesOf } from "./call";
import { lookAt, workUnderWay } from "./creation/being-made";
import { isPlaceholder, pendingOf } from "./creation/pending";
import type { Properties, ReadAnswer } from "./host";
import { findOrAbsent } from "./looks/absence";
import { outputsOf, outputsOfNew } from "./values/outputs";
import { plain } from "./values/plain";
import { hiddenInputs, hiddenOf } from "./values/state";
import { asValue, compareWords, type Sighting } from "./values/words";

/**
 * Reads an object for a refresh: outputs, and the inputs as they are at the service, so that drift shows and the next
 * `up` puts it right. Empty where the object is gone; a `get` of what is not there is an error.
 */
export async function read(call: Call, id: string, state: Properties): Promise<ReadAnswer> {
  requireRecordedEndpoint(call, id, state);
  if (isPlaceholder(id)) return readPlaceholder(call, id, state);
  const atWork = await workUnderWay(call, state);
  const unchanged = { id, props: state, inputs: inputsOf(call, state) };
  const { key: creation } = pendingOf(state) ?? {};
  if (atWork !== undefined && creation !== undefined) return unchanged;
  const sought = soughtOf(call.kind, id, state);
  const first = await call.session.sightings.recent(sought, call);
  const object = await findOrAbsent(call, sought, first);
  const managed = hiddenOf(state).__key !== undefined;
  if (object === undefined) {
    if (managed) return {};
    throw new CloudInfraError("not_found", `there is no ${call.kind.name} ${id}`);
  }
  if (!managed) return lookedUp(call, object, state);
  if (creation !== undefined)
    return { ...unchanged, props: outputsOfNew(call, object, state, valuesOf(call, state)) };
  const isItem = "found" in first && first.by === "sweep";
  const seen = refreshed(call, isItem ? await beyondTheList(call, object, state) : object, state);
  if (atWork === undefined) return seen;
  // The end of an update may come under the revision that is shown already: only the one from before is safe.
  const { __pending, revision } = state;
  return { ...seen, props: plain({ ...seen.props, __pending, revision }) };
}

/** A creation that was cut off: done, it has its real id; failed, it is gone; else it is as it was. */
async function readPlaceholder(call: Call, id: string, state: Properties): Promise<ReadAnswer> {
  const { operation } = pendingOf(state) ?? {};
  const unchanged = { id, props: state, inputs: inputsOf(call, state) };
  if (operation === undefined) return unchanged;
  const seen = await lookAt(call, operation);
  if (seen === undefined) return unchanged;
  if (isFailure(seen)) return {};
  const real = isSuccess(seen) ? call.session.client.resultId(seen) : undefined;
  if (real === undefined) return unchanged;
  const sought = soughtOf(call.kind, real, state);
  const first = await call.session.sightings.recent(sought, call);
  const object = await findOrAbsent(call, sought, first);
  if (object === undefined) return {};
  const props = outputsOfNew(call, object, state, valuesOf(call, state));
  return { id: real, props, inputs: unchanged.inputs };
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
  const alone = await call.session.sightings.byItself(soughtOf(call.kind, item.id, state), call);
  if (alone === undefined) return item;
  return { ...item, fields: { ...item.fields, ...alone.fields }, revision: alone.revision ?? item.revision };
}

/** Whether the object still has the revision that the state knows: then nobody has changed it (§4.5). */
function isUnchanged({ revision }: ApiObject, state: Properties): boolean {
  return revision !== undefined && revision === hiddenOf(state).revision;
}

function seenOf(call: Call, object: ApiObject, state: Properties): Sighting {
  const words = hiddenOf(state).__words ?? {};
  return compareWords(call.kind.fields, { values: valuesOf(call, state), words }, object.fields);
}

function refreshed(call: Call, object: ApiObject, state: Properties): Found {
  const { values, words } = seenOf(call, object, state);
  const props = outputsOf(call, object, { hidden: state, values, words, before: state });
  return {
    id: object.id,
    props: isUnchanged(object, state) ? plain({ ...props, __unmanaged: state.__unmanaged }) : props,
    inputs: plain({ ...hiddenInputs(state), ...values }),
  };
}

/** What a look has found. */
type Found = Extract<ReadAnswer, { id: string }>;

/** What the program only looks at shows the service's own words. */
function lookedUp(call: Call, object: ApiObject, state: Properties): ReadAnswer {
  const values = Object.fromEntries(
    call.kind.fields.map((field) => [field.name, asValue(field, object.fields[field.wire])]),
  );
  return {
    id: object.id,
    props: outputsOf(call, object, { hidden: state, values, words: {}, before: {} }),
    inputs: plain(hiddenInputs(state)),
  };
}
