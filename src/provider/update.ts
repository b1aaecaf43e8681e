import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { remainingMs } from "../operations/deadline";
import { updateBody } from "./body";
import { type Call, finish, requireRecordedEndpoint, soughtOf } from "./call";
import { valuesOf } from "./create";
import { changedFields } from "./diff";
import { type Field, sameValue } from "./fields";
import type { Properties } from "./host";
import { outputsOf } from "./outputs";
import { hiddenOf } from "./state";
import { compareWords, wordOf, wordsAfter } from "./words";

/**
 * Updates an instance (§4.5): a full body, on condition that the revision is still the one in the state, then a look at
 * what became of it.
 *
 * @throws CloudInfraError `revision_conflict` where somebody else changed it: nothing is overwritten
 * @throws NotApplied where the service accepted a change and did not make it
 */
export async function update(
  call: Call,
  id: string,
  olds: Properties,
  news: Properties,
): Promise<{ outs: Properties }> {
  requireRecordedEndpoint(call, id, olds);
  const { client, sightings } = call.session;
  const current = await present(call, id, olds);
  const changed = changedFields(call.kind.fields, olds, news);
  if (changed.length === 0) return { outs: outputsAfter(call, current, olds, news) };
  const body = updateBody(call.kind.fields, olds, news, current.fields);
  const revision = revisionFor(call, id, olds, current);
  const accepted = await client.instances.update(id, body, revision, call).finally(() => sightings.forget());
  if (accepted.kind === "operation") await finish(call, accepted.operation).finally(() => sightings.forget());
  const { after, unmade } = await madeOrNot(call, id, changed, { olds, news, before: current });
  const outs = outputsAfter(call, after, olds, news);
  if (unmade.length > 0) throw new NotApplied(unmade, stillAsBefore(outs, olds, unmade));
  return { outs };
}

/** A list may lag behind an update: what looks unmade is looked at again before it counts as such. */
const PAUSES_MS = [0, 500, 1_000, 2_000];

/** Accepted is not applied: reads back, and tells which of the changed fields are as they were before. */
async function madeOrNot(
  call: Call,
  id: string,
  changed: readonly Field[],
  { olds, news, before }: { olds: Properties; news: Properties; before: ApiObject },
): Promise<{ after: ApiObject; unmade: readonly Field[] }> {
  let seen: { after: ApiObject; unmade: readonly Field[] } = { after: before, unmade: changed };
  for (const pause of PAUSES_MS) {
    if (pause > 0 && remainingMs(call.deadline, call.session.clock) <= pause) break;
    await call.session.clock.sleep(pause);
    const after = await present(call, id, olds);
    seen = { after, unmade: notMade(changed, olds, news, { before, after }) };
    if (seen.unmade.length === 0) break;
  }
  return seen;
}

/** The service accepted a change and did not make it (what an endpoint accepts is not shown). Carries what is true now. */
export class NotApplied extends CloudInfraError {
  constructor(
    fields: readonly Field[],
    readonly outs: Properties,
  ) {
    const names = fields.map(({ name }) => name).join(", ");
    super("not_applied", `the service accepted the update, but did not change ${names}`, {
      hint:
        `if it can't be changed in place, add replaceOnChanges: [${fields.map(({ name }) => `"${name}"`).join(", ")}] ` +
        "to the resource's options, or ignoreChanges to leave it as it is",
    });
  }
}

/** The object as it stands; an update needs what the program does not manage, so as not to erase it. */
async function present(call: Call, id: string, state: Properties): Promise<ApiObject> {
  const sought = soughtOf(call.kind, id, state);
  const { sightings } = call.session;
  const first = await sightings.fresh(sought, call);
  const look = "found" in first ? first : await sightings.second(sought, first, call);
  if ("found" in look) return look.found;
  throw new CloudInfraError("not_found", `${call.kind.name} ${id} is not there any more`, {
    hint: "`pulumi refresh` takes it out of the state if it is really gone; the next `pulumi up` then makes it anew",
  });
}

/** The revision that the state knows; without one, the object's own, if nobody has changed what the program manages. */
function revisionFor(call: Call, id: string, olds: Properties, current: ApiObject): string {
  const { __words: words = {}, revision } = hiddenOf(olds);
  if (revision !== undefined) return revision;
  if (current.revision === undefined) {
    throw new CloudInfraError(
      "bad_reply",
      `${call.kind.name} ${id} carries no revision, and an update needs one (§4.5)`,
      {
        hint: "where the service names it in a field of its own, set cloudinfra:revisionField to that field's name",
      },
    );
  }
  const { drifted } = compareWords(call.kind.fields, { values: valuesOf(call, olds), words }, current.fields);
  if (drifted.length === 0) return current.revision;
  throw new CloudInfraError(
    "revision_conflict",
    `somebody else changed ${drifted.join(", ")} of ${call.kind.name} ${id}`,
    {
      hint: "nothing was overwritten. `pulumi refresh` shows what they made of it; the next `pulumi up` puts it right",
    },
  );
}

/**
 * The outputs from a look after the update. Where somebody changed what this update did not, the state keeps the revision
 * from before: the next update is then refused instead of writing over a change that nobody has seen.
 */
function outputsAfter(call: Call, object: ApiObject, olds: Properties, news: Properties): Properties {
  const { fields } = call.kind;
  const { __words: words = {}, revision } = hiddenOf(olds);
  const isKept = (field: Field): boolean => sameValue(field, olds[field.name], news[field.name]);
  const [kept, changed] = [fields.filter(isKept), fields.filter((field) => !isKept(field))];
  const keptWords = Object.fromEntries(
    Object.entries(words).filter(([name]) => kept.some((field) => field.name === name)),
  );
  const { drifted } = compareWords(kept, { values: valuesOf(call, olds), words }, object.fields);
  const seen = drifted.length === 0 ? object : { ...object, revision };
  return outputsOf(call, seen, {
    hidden: news,
    values: valuesOf(call, news),
    words: { ...keptWords, ...wordsAfter(changed, news, object.fields) },
    before: { ...olds, revision: undefined },
  });
}

/** The changed fields whose word at the service is neither the desired value nor another than before. */
function notMade(
  changed: readonly Field[],
  olds: Properties,
  news: Properties,
  { before, after }: { before: ApiObject; after: ApiObject },
): Field[] {
  return changed.filter((field) => {
    const managed = [olds[field.name], news[field.name]];
    const word = wordOf(field, after.fields, ...managed);
    if (word === undefined) return false;
    const desired = news[field.name] ?? { text: undefined, keys: [], labels: {} }[field.type];
    return (
      !sameValue(field, word, desired) && sameValue(field, word, wordOf(field, before.fields, ...managed))
    );
  });
}

/** The outputs with the old values where nothing changed, so that the next `up` sees the difference again. */
function stillAsBefore(outs: Properties, olds: Properties, unmade: readonly Field[]): Properties {
  const words = { ...hiddenOf(outs).__words };
  const remembered = hiddenOf(olds).__words ?? {};
  const values = { ...outs };
  for (const { name } of unmade) {
    values[name] = olds[name];
    delete words[name];
    if (Object.hasOwn(remembered, name)) words[name] = remembered[name];
  }
  return { ...values, __words: Object.keys(words).length > 0 ? words : undefined };
}
