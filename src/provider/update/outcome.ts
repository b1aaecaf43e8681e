import type { ApiObject } from "../../api/client";
import { asksForAddress, isAddress, meansNoAddress } from "../../model/addresses";
import { changedFields } from "../../model/changes";
import { sameValue } from "../../model/equality";
import type { Field, Json, RemoteValues, WireFields } from "../../model/fields";
import { labelsOf, withoutRecasedKeys } from "../../model/labels";
import { outputsOf, withRemovedFields } from "../../model/outputs";
import {
  type Applied,
  appliedIn,
  compareRemoteValues,
  remoteValueOf,
  remoteValuesAfter,
} from "../../model/remote-values";
import type { Recorded } from "../../model/state";
import {
  contradicts,
  differsFromDesired,
  hasDesiredValue,
  isNormalizedForm,
  isToChange,
  keepsAddress,
  mayBeNormalizedForm,
  mayShowMode,
  type PropertySides,
  sidesOf,
} from "../../model/three-way";
import { argumentsOf, type Context } from "../context";
import { type Patience, readUntil } from "../lagging-reads";
import { type Change, requireUpdatedObject, type WriteResult } from "./write";

/** What became of an update. */
export interface UpdateOutcome {
  readonly object: ApiObject;
  /** What the update made of the object before anybody could change it again: not every service answers with it. */
  readonly own?: ApiObject | undefined;
  /** The object before the update. */
  readonly before?: ApiObject;
  /** The changed fields that are as they were before. */
  readonly unapplied: readonly Field[];
  /** Whether no update of this program has made a new revision of the object: somebody else may have changed what isn't shown. */
  readonly isOthers?: boolean;
  /** Whether the object is known to be older than the update, so that it proves nothing. */
  readonly isOutdated?: boolean;
}

type Sent = Extract<WriteResult, { kind: "accepted" }>;

/**
 * Reads the object until it shows the change, because an accepted change need not be applied. If the service answered 202, it may
 * take as long as the update may; otherwise, only a list that lags behind is waited for.
 */
export async function waitUntilApplied(
  context: Context,
  change: Change,
  written: WriteResult,
): Promise<UpdateOutcome> {
  if (written.kind === "there") {
    const { object, isOthers } = written;
    return { object, own: object, unapplied: [], isOthers };
  }
  const mayBeOlder = ({ object, isOutdated }: UpdateOutcome): boolean =>
    isOutdated === true || (isListOnly(context, object) && hasRevisionOf(object, written.before));
  // Without another revision, what isn't shown may still be made.
  const isUntold = ({ object }: UpdateOutcome): boolean =>
    change.fields.some(
      ({ name, wire }) => change.news[name] !== undefined && object.fields[wire] === undefined,
    );
  const patienceFor = (seen: UpdateOutcome): Patience => {
    if (isPending(written)) return "deadline";
    return mayBeOlder(seen) ? "catching up" : "lag";
  };
  const mayBeKept = (seen: UpdateOutcome): boolean =>
    sidesOf(change.fields, change, seen.object.fields).some((side) => keepsAddress(side, change, seen));
  const isOpen = (seen: UpdateOutcome): boolean =>
    hasRevisionOf(seen.object, written.before) &&
    (isUntold(seen) || (patienceFor(seen) !== "lag" && mayBeKept(seen)));
  return context.progress.during("waiting for confirmation", () =>
    readUntil(
      context,
      () => readAfterUpdate(context, change, written),
      (seen) => seen.unapplied.length === 0 && seen.isOutdated !== true && !isOpen(seen),
      patienceFor,
    ),
  );
}

const isListOnly = ({ session, kind }: Context, { id }: ApiObject): boolean =>
  session.finder.isListOnly(kind, id);

/** Whether the service answered 202 without an operation to wait for: it may apply the change later. */
export function isPending(written: WriteResult): boolean {
  return (
    written.kind === "accepted" && written.accepted.kind !== "operation" && written.accepted.deferred === true
  );
}

async function readAfterUpdate(context: Context, change: Change, sent: Sent): Promise<UpdateOutcome> {
  const look = await requireUpdatedObject(context, change);
  const past = pastRevisions(change, sent);
  const own = ownReply(change, sent);
  const isOld = own !== undefined && isOlder(look, own, past);
  const object = isOld ? newerOf(look, own) : look;
  const isTold = change.fields.every(({ wire }) => own?.fields[wire] !== undefined);
  return {
    object,
    own,
    before: sent.before,
    unapplied: unappliedFields(change, sent, object),
    isOutdated: isOld && look.revision !== undefined && !isTold,
  };
}

/** The reply to the update, unless it shows the object as it was before: a service may answer before it makes the change. */
export function ownReply(change: Change, sent: WriteResult): ApiObject | undefined {
  if (sent.kind === "there") return sent.object;
  const { accepted } = sent;
  if (accepted.kind !== "object" || accepted.object.id !== change.id || accepted.deferred) return undefined;
  const { revision } = accepted.object;
  return revision !== undefined && pastRevisions(change, sent).includes(revision)
    ? undefined
    : accepted.object;
}

function pastRevisions({ olds }: Change, { before }: Sent): readonly (string | undefined)[] {
  return [before.revision, olds.revision];
}

/** A list that lags behind still shows an earlier revision, or none at all, after the reply to the update has shown a newer one. */
function isOlder(look: ApiObject, own: ApiObject, past: readonly (string | undefined)[]): boolean {
  if (own.revision === undefined) return false;
  return look.revision === undefined || past.includes(look.revision);
}

/** The reply may carry as little as id, status and revision: what it leaves out is unknown, not removed. */
function newerOf(look: ApiObject, own: ApiObject): ApiObject {
  return { ...own, fields: { ...look.fields, ...own.fields } };
}

/** Whether an object has the revision that If-Match carried: nothing of it has changed since. */
function hasRevisionOf({ revision }: ApiObject, before: ApiObject): boolean {
  return revision !== undefined && revision === before.revision;
}

/**
 * The changed fields whose word at the service is neither the desired value, at least as normalized, nor another than before. If a refresh
 * accepted that word, it may be the service's own for the desired value: that of an update whose reply was lost, for example. A value that
 * isn't shown counts as set: the update that sets what is there already leaves the revision as it is, and so do all that the service doesn't
 * show, if the revision is made of what it shows. What both a read and the update's reply contradict isn't made, either.
 */
function unappliedFields(change: Change, sent: Sent, after: ApiObject): Field[] {
  const { before } = sent;
  const own = ownReply(change, sent);
  const sidesIn = (object?: ApiObject): PropertySides[] =>
    sidesAfter(change.fields, change, object?.fields ?? {});
  const wordsBefore = new Map(sidesIn(before).map(({ property, now }) => [property, now]));
  // A new revision would show that the update has changed something else, and not this; after a bare 202, it may still change something.
  const isAccepted = !isPending(sent) && hasRevisionOf(after, before);
  const isAsBefore = (side: PropertySides): boolean =>
    differsFromDesired(side) &&
    !hasNewAddress(side, before, after) &&
    !isNormalizedForm(side) &&
    !(isAccepted && mayBeAccepted(side)) &&
    !keepsAddress(side, change, { own, before }) &&
    sameValue(side.field, side.now, wordsBefore.get(side.property));
  const otherwise = sidesIn(own).filter(contradicts);
  // The reply may show what was there before, and the read what somebody else has changed since.
  const isOtherwise = (side: PropertySides): boolean =>
    contradicts(side) && otherwise.some(({ property }) => property === side.property);
  const unmade = sidesIn(after).filter((side) => isToChange(side) && (isAsBefore(side) || isOtherwise(side)));
  return change.fields.filter((field) => unmade.some((side) => side.field === field));
}

function sidesAfter(fields: readonly Field[], { olds, news }: Change, object: WireFields): PropertySides[] {
  return sidesOf(fields, { olds: withoutRecasedKeys(fields, olds, news), news }, object);
}

/** Whether a refresh accepted the service's word for what may be the desired value. */
const mayBeAccepted = (side: PropertySides): boolean =>
  side.applied !== undefined && mayBeNormalizedForm(side);

/** Whether an object has something that the state doesn't know, and that may be the desired value as the service shows it. */
function mayBeNew({ field, inState, now, desired }: PropertySides): boolean {
  const isOpen = inState === undefined && desired !== undefined && ![now, desired].some(isAddress);
  return isOpen && !isNone(now) && !contradicts({ field, now, desired });
}

/** Whether a field shows that it has no value. */
const isNone = (now: unknown): boolean => (now ?? null) === null || meansNoAddress(now);

/** Why the service may have a desired value although it doesn't show it. */
export type PossibleReason =
  /** It may show the address that was pinned before in place of the mode. */
  | "address"
  /** It may show the value in its own way: an update of that field alone would leave the revision as it is, and so prove it. */
  | "word"
  /** It has not changed anything, so it may have had the value before, and may show it in its own way. */
  | "former";

/** Returns what may be the reason why the service doesn't show a desired value that it has. */
export function possibleReasonFor(
  change: Change,
  { object, unapplied, before }: UpdateOutcome,
): PossibleReason | undefined {
  const sides = sidesOf(unapplied, change, object.fields);
  if (sides.some(mayShowMode)) return "address";
  const isOneOfMore = unapplied.length < change.fields.length;
  if (isOneOfMore && sides.some((side) => differsFromDesired(side) && mayBeAccepted(side))) return "word";
  return before !== undefined && hasRevisionOf(object, before) && sides.some(mayBeNew) ? "former" : undefined;
}

/** Whether the service has assigned an address, although it doesn't show the mode that was set. */
function hasNewAddress({ field, now, desired }: PropertySides, before: ApiObject, after: ApiObject): boolean {
  if (field.wire !== "public_ip" || now !== null || !asksForAddress(desired)) return false;
  const known = Object.values(before.fields);
  return Object.values(after.fields).some((value) => isAddress(value) && !known.includes(value));
}

/**
 * The outputs from a look after the update; what was not made has its old values, so that the next `up` sees the
 * difference again. Where somebody else has changed something since, the state keeps the revision from before: the next
 * update is then refused instead of writing over a change that nobody has seen.
 */
export function outputsAfterUpdate(context: Context, change: Change, outcome: UpdateOutcome): Recorded {
  const { olds, news } = change;
  const { object, own, unapplied } = outcome;
  const { remoteValues: remembered = {}, applied = {}, revision } = olds;
  const changed = changedFields(context.kind.fields, olds, news);
  const isNew = (field: Field): boolean =>
    sidesAfter([field], change, object.fields).some(({ now, known }) => !sameValue(field, now, known));
  const isMade = (field: Field): boolean =>
    !unapplied.includes(field) && (changed.includes(field) || isNew(field));
  const made = change.fields.filter(isMade);
  const others = context.kind.fields.filter((field) => !made.includes(field));
  const values = {
    ...argumentsOf(context, news),
    ...Object.fromEntries(unapplied.map(({ name }) => [name, olds[name]])),
  };
  const words = {
    ...pickFields(others, remembered),
    ...Object.assign({}, ...made.map((field) => remoteValueAfter(field, change, outcome))),
  };
  // An address for the mode that was just set is no evidence: unless the update's reply shows it, it may be somebody else's choice.
  const marks = Object.fromEntries(made.map(({ name }) => [name, { value: news[name] }]));
  const modes = others.filter(
    (field) => field.wire === "public_ip" && !changed.includes(field) && asksForAddress(news[field.name]),
  );
  const former = pickFields(
    modes.filter((field) => isMarked(field, change)),
    applied,
  );
  const known = { values, words, applied: { ...former, ...marks }, ipAddress: olds.ipAddress };
  // The service may omit a new value that stands for none, such as "none" for the address.
  const mayBeOmitted = (field: Field): boolean => field.type === "text" && changed.includes(field);
  const tellable = context.kind.fields.filter((field) => !mayBeOmitted(field));
  const now = withRemovedFields(tellable, object, olds);
  const { drifted, untold } = compareRemoteValues(context.kind.fields, known, now.fields);
  const mayBeTheirs = ({ name, change: how }: Field): boolean => how === "in place" && untold.includes(name);
  const isUnseen = outcome.isOthers === true && context.kind.fields.some(mayBeTheirs);
  const ours = { ...object, fields: { ...object.fields, ...own?.fields }, revision, isFromOwnUrl: false };
  // Without a mark, an address of somebody's choice would look like the service's assignment as soon as it is in the state.
  const theirs = modes.filter(({ name }) => drifted.includes(name));
  const ofTheirs = theirs.map(({ name }) => [name, { value: news[name], word: words[name] ?? news[name] }]);
  return outputsOf(context, drifted.length === 0 && !isUnseen ? now : ours, {
    hidden: news,
    values,
    words,
    applied: {
      ...pickFields(others, applied),
      ...formerPairs(change, made),
      ...unprovenValues(change, outcome, made),
      ...Object.fromEntries(ofTheirs),
    },
    before: { ...olds, revision: undefined },
  });
}

/** Whether an earlier update has marked a field, because somebody had changed it and the program ignores that. */
function isMarked({ name }: Field, { olds, news }: Change): boolean {
  const mark = appliedIn(olds.applied ?? {}, name);
  return mark?.word !== undefined && mark.value === news[name];
}

/** The remote value of what was just applied, unless somebody else has changed it since. */
function remoteValueAfter(field: Field, change: Change, seen: UpdateOutcome): RemoteValues {
  const { news } = change;
  const { object, own, before } = seen;
  const desired = news[field.name];
  const wordIn = (fields: WireFields): unknown => remoteValueOf(field, fields, desired);
  const shownWord = wordIn(own?.fields ?? {});
  const isFormer = before !== undefined && sameValue(field, shownWord, wordIn(before.fields));
  const ownWord = isFormer ? undefined : shownWord;
  const isSameState = object.revision !== undefined && object.revision === own?.revision;
  const sides = sidesAfter([field], change, object.fields);
  const isOwn =
    isSameState ||
    (ownWord === undefined
      ? sides.every(
          (side) => hasDesiredValue(side) || mayBeNormalizedForm(side) || keepsAddress(side, change, seen),
        )
      : sameValue(field, wordIn(object.fields), ownWord));
  const ownFields = ownWord === undefined ? {} : (own?.fields ?? {});
  return remoteValuesAfter([field], news, isOwn ? object.fields : ownFields);
}

/**
 * The values whose word is not known, because somebody else may have changed what the service shows. If a refresh accepts that word, and
 * the service accepts the value again without a change of the revision, it is the word for the value.
 */
function unprovenValues(change: Change, seen: UpdateOutcome, made: readonly Field[]): RemoteValues {
  if (seen.own !== undefined) return {};
  const isOpen = (side: PropertySides): boolean =>
    side.desired !== undefined &&
    differsFromDesired(side) &&
    !mayBeNormalizedForm(side) &&
    !keepsAddress(side, change, seen);
  const open = sidesAfter(made, change, seen.object.fields).filter(isOpen);
  const marks: Record<string, Json> = {};
  for (const { field, path, desired } of open) {
    const [name, label] = [field.name, path[1]];
    const mark = { value: desired };
    marks[name] = label === undefined ? mark : { ...labelsOf(marks[name]), [label]: mark };
  }
  return marks;
}

/** The words of former values: if the program sets such a value again, its word proves that the service has it. */
function formerPairs({ olds, news }: Change, made: readonly Field[]): RemoteValues {
  const { remoteValues: words = {}, applied = {} } = olds;
  return Object.fromEntries(
    made.flatMap((field): [string, Applied][] => {
      const { name, type } = field;
      const isRemembered = Object.hasOwn(words, name);
      const pair = isRemembered ? { value: olds[name], word: words[name] } : appliedIn(applied, name);
      const isOther = pair !== undefined && !sameValue(field, pair.value, news[name]);
      return type === "text" && isOther && typeof pair.word === "string" && !isAddress(pair.word)
        ? [[name, pair]]
        : [];
    }),
  );
}

function pickFields(fields: readonly Field[], values: RemoteValues): RemoteValues {
  const names = fields.map(({ name }) => name).filter((name) => Object.hasOwn(values, name));
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}
