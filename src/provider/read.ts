import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { findOrAbsent } from "./absence";
import { type Call, requireRecordedEndpoint, soughtOf } from "./call";
import { valuesOf } from "./create";
import type { Properties, ReadAnswer } from "./host";
import { outputsOf } from "./outputs";
import { plain } from "./plain";
import { hiddenInputs, hiddenOf } from "./state";
import { asValue, compareWords } from "./words";

/**
 * Reads an object for a refresh: outputs, and the inputs as they are at the service, so that drift shows and the next
 * `up` puts it right. Empty where the object is gone; a `get` of what is not there is an error.
 */
export async function read(call: Call, id: string, state: Properties): Promise<ReadAnswer> {
  requireRecordedEndpoint(call, id, state);
  const sought = soughtOf(call.kind, id, state);
  const first = await call.session.sightings.recent(sought, call);
  const object = await findOrAbsent(call, sought, first);
  const managed = hiddenOf(state).__key !== undefined;
  if (object === undefined) {
    if (managed) return {};
    throw new CloudInfraError("not_found", `there is no ${call.kind.name} ${id}`);
  }
  return managed ? refreshed(call, object, state) : lookedUp(call, object, state);
}

function refreshed(call: Call, object: ApiObject, state: Properties): ReadAnswer {
  const words = hiddenOf(state).__words ?? {};
  const seen = compareWords(call.kind.fields, { values: valuesOf(call, state), words }, object.fields);
  return {
    id: object.id,
    props: outputsOf(call, object, { hidden: state, values: seen.values, words: seen.words, before: state }),
    inputs: plain({ ...hiddenInputs(hiddenOf(state)), ...seen.values }),
  };
}

/** What the program only looks at shows the service's own words. */
function lookedUp(call: Call, object: ApiObject, state: Properties): ReadAnswer {
  const values = Object.fromEntries(
    call.kind.fields.map((field) => [field.name, asValue(field, object.fields[field.wire])]),
  );
  return {
    id: object.id,
    props: outputsOf(call, object, { hidden: state, values, words: {}, before: {} }),
    inputs: plain(hiddenInputs(hiddenOf(state))),
  };
}
