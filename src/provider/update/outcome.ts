import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../../api/client";
import { asksForAddress, isAddress, isUnspecifiedMode, meansNoAddress } from "../../model/addresses";
import { changedFields, sameValue } from "../../model/changes";
import { labelsOf, withoutRecasedKeys } from "../../model/labels";
import { outputsOf, withRemovedFields } from "../../model/outputs";
import {
  type ComparedProperty,
  compareProperties,
  contradicts,
  differsFromDesired,
  hasDesiredValue,
  hasSameCharacters,
  isNormalizedForm,
  isNotReturned,
  isToChange,
  keepsAddress,
  mayBeNormalizedForm,
  mayShowMode,
} from "../../model/property-comparison";
import {
  type Applied,
  appliedIn,
  compareRemoteValues,
  remoteValueOf,
  remoteValuesAfter,
} from "../../model/remote-values";
import type { Field, Json, RemoteValues, WireFields } from "../../model/resource-fields";
import type { Recorded } from "../../model/state";
import { type Patience, readUntil } from "../absence";
import { argumentsOf, type Context, hasRevisionOf } from "../context";
import {
  hasNewAddress,
  isHiddenMode,
  isOfNewMode,
  isStillPublic,
  mayBeOfMode,
  ownAddress,
} from "./public-address";
import type { Change } from "./requested-values";
import { requireUpdatedObject, type WriteResult } from "./write";

/** The result of an update. */
export interface UpdateOutcome {
  readonly object: ApiObject;
  /** The object directly after the update, without later changes. It is unknown if the reply to the update doesn't contain it. */
  readonly own?: ApiObject | undefined;
  readonly before?: ApiObject;
  /** The changed fields for which the service still returns the old value. */
  readonly unapplied: readonly Field[];
  /** Whether another user's update has set the revision of the object, and may have changed properties that the reply omits. */
  readonly isOthers?: boolean;
  /** Whether the object is older than the update, so that it proves nothing about the update. */
  readonly isOutdated?: boolean;
  /** Whether reads still return the object from before the update. */
  readonly isLagging?: boolean;
  /** Whether only the reply to the update contains the new values, because the object's own URL lags. */
  readonly isEcho?: boolean;
}

type Sent = Extract<WriteResult, { kind: "accepted" }>;

/**
 * Reads the object until the change is visible, because a service may accept a change without applying it. After a 202, the reads continue
 * until the deadline. Otherwise, they continue only as long as lists may lag.
 */
export async function waitUntilApplied(
  context: Context,
  change: Change,
  written: WriteResult,
): Promise<UpdateOutcome> {
  if (written.kind === "already applied") {
    const { object, isOthers } = written;
    return { object, own: object, unapplied: [], isOthers };
  }
  const mayBeOlder = ({ object, unapplied, isLagging }: UpdateOutcome): boolean =>
    isLagging === true ||
    (hasRevisionOf(object, written.before) &&
      (unapplied.length > 0 || context.session.finder.isListOnly(context.kind, object.id)));
  // An omitted or normalized field of an object with its former revision may still change.
  const isOmitted = ({ object }: UpdateOutcome): boolean =>
    change.fields.some(
      ({ name, wire }) => change.news[name] !== undefined && object.fields[wire] === undefined,
    );
  const patienceFor = (seen: UpdateOutcome): Patience => {
    if (isPending(written)) return "deadline";
    return mayBeOlder(seen) ? "catching up" : "lag";
  };
  const mayBeKept = (seen: UpdateOutcome): boolean =>
    compareProperties(change.fields, change, seen.object.fields).some((compared) =>
      keepsAddress(compared, change, seen),
    );
  const isUnproven = ({ object }: UpdateOutcome): boolean =>
    compareProperties(change.fields, change, object.fields).some(
      (compared) => isToChange(compared) && differsFromDesired(compared) && mayBeAccepted(compared),
    );
  const isOpen = (seen: UpdateOutcome): boolean =>
    hasRevisionOf(seen.object, written.before) &&
    (isOmitted(seen) || isUnproven(seen) || (patienceFor(seen) !== "lag" && mayBeKept(seen)));
  return context.progress.during("waiting for confirmation", () =>
    readUntil(
      context,
      () => readAfterUpdate(context, change, written),
      (seen) => seen.unapplied.length === 0 && seen.isLagging !== true && !isOpen(seen),
      patienceFor,
    ),
  );
}

/** Reports whether the service returned 202 without an operation. The service may then apply the change later. */
export function isPending(written: WriteResult): boolean {
  return (
    written.kind === "accepted" && written.accepted.kind !== "operation" && written.accepted.deferred === true
  );
}

async function readAfterUpdate(context: Context, change: Change, sent: Sent): Promise<UpdateOutcome> {
  const latest = await requireUpdatedObject(context, change);
  const past = pastRevisions(change, sent);
  const replied = ownReply(change, sent);
  const isOld = replied !== undefined && isOlder(latest, replied, past);
  // Fields that the reply omits are unknown, so their values are kept.
  const object = isOld ? { ...replied, fields: { ...latest.fields, ...replied.fields } } : latest;
  const isComplete = change.fields.every(({ wire }) => replied?.fields[wire] !== undefined);
  // A revision that is computed from the fields that a GET returns stays the same if the GET doesn't return the changed fields.
  const isDifferent = ({ wire }: Field): boolean => {
    const [before, after] = [latest.fields[wire], replied?.fields[wire]];
    return before !== undefined && after !== undefined && !isDeepStrictEqual(before, after);
  };
  const own = replied ?? (isOnlyChange(change, sent, latest) ? latest : undefined);
  return {
    object,
    own,
    before: sent.before,
    unapplied: unappliedFields(change, { object, own, before: sent.before }),
    isOutdated: isOld && latest.revision !== undefined && !isComplete,
    isLagging: isOld && latest.revision !== undefined && (!isComplete || change.fields.some(isDifferent)),
    isEcho: isOld && latest.isFromOwnUrl === true,
  };
}

/**
 * Reports whether nobody else has changed the object since the update. The reply to the update may contain only the new revision. Without
 * that revision, a counter that has increased by one is sufficient if this update has increased it. An earlier attempt may have applied the
 * change instead, and after a 202 without an operation, the change may not have been applied yet.
 */
function isOnlyChange(change: Change, sent: Sent, { revision }: ApiObject): boolean {
  const { accepted, before } = sent;
  if (revision === undefined || pastRevisions(change, sent).includes(revision) || isPending(sent))
    return false;
  const isFirst = before === change.before;
  return (
    (accepted.kind === "none" && accepted.revision === revision) ||
    (isFirst && isNext(before.revision, revision))
  );
}

/** A number, such as `r7`. Longer numbers may be times. */
const COUNTER = /^(\D*)(\d{1,9})$/;

/** Reports whether a revision is the number that follows another one. */
function isNext(before: string | undefined, after: string): boolean {
  const [, prefix, count] = COUNTER.exec(before ?? "") ?? [];
  return count !== undefined && after === `${prefix}${Number(count) + 1}`;
}

/** Returns the object in the reply to the update, or `undefined` if the reply contains the former values after a 202. */
export function ownReply(change: Change, sent: WriteResult): ApiObject | undefined {
  if (sent.kind === "already applied") return sent.object;
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

/** Reports whether a lagging list contains no revision, or a revision from before the update's reply. */
function isOlder(latest: ApiObject, own: ApiObject, past: readonly (string | undefined)[]): boolean {
  if (own.revision === undefined) return false;
  return latest.revision === undefined || past.includes(latest.revision);
}

/**
 * Returns the changed fields for which the service still returns the old value.
 *
 * Fields that the reply omits are treated as set. A value that contradicts the desired value in both the read and the reply is not treated
 * as set. If the reply was lost, a remote value that a refresh accepted may be a normalized form. Some services keep the revision if
 * nothing changes, or compute the revision from the fields that they return.
 */
function unappliedFields(
  change: Change,
  { object: after, own, before }: { object: ApiObject; own: ApiObject | undefined; before: ApiObject },
): Field[] {
  const propertiesIn = (object?: ApiObject): ComparedProperty[] =>
    propertiesAfter(change.fields, change, object?.fields ?? {});
  const wordsBefore = new Map(propertiesIn(before).map(({ property, now }) => [property, now]));
  // With a new revision, the update may have changed only other fields.
  const isAccepted = hasRevisionOf(after, before);
  const isAsBefore = (compared: ComparedProperty): boolean =>
    differsFromDesired(compared) &&
    !hasNewAddress(compared, before, after) &&
    !isNormalizedForm(compared) &&
    !((isAccepted || isRepeated(compared)) && mayBeAccepted(compared)) &&
    !isNotReturned(compared) &&
    !keepsAddress(compared, change, { own, before }) &&
    !isHiddenMode(compared) &&
    sameValue(compared.field, compared.now, wordsBefore.get(compared.property));
  const otherwise = propertiesIn(own).filter(contradicts);
  // The reply may contain the former values, and the read may contain a later change by another user.
  const isOtherwise = (compared: ComparedProperty): boolean =>
    contradicts(compared) && otherwise.some(({ property }) => property === compared.property);
  const unapplied = propertiesIn(after).filter(
    (compared) =>
      isToChange(compared) &&
      (isAsBefore(compared) || isOtherwise(compared) || isStillPublic(compared, before, after)),
  );
  return change.fields.filter((field) => unapplied.some((compared) => compared.field === field));
}

function propertiesAfter(
  fields: readonly Field[],
  { olds, news }: Change,
  object: WireFields,
): ComparedProperty[] {
  const wanted = { olds: withoutRecasedKeys(fields, olds, news), news };
  return compareProperties(fields, wanted, object, { isAfterUpdate: true });
}

/** Reports whether a refresh has accepted a remote value that may be a normalized form of the desired value. */
const mayBeAccepted = (compared: ComparedProperty): boolean =>
  compared.applied !== undefined && mayBeNormalizedForm(compared);

/** Reports whether an earlier update has already set the desired value, and only its normalized form is unknown. */
const isRepeated = ({ field, applied, desired }: ComparedProperty): boolean =>
  applied !== undefined && applied.word === undefined && sameValue(field, applied.value, desired);

/** Reports whether the service may return the desired value in this form, so that another user need not have changed it. */
const mayBeOwn = (compared: ComparedProperty, change: Change, seen: UpdateOutcome): boolean =>
  hasDesiredValue(compared) ||
  mayBeNormalizedForm(compared) ||
  hasSameCharacters(compared) ||
  isNotReturned(compared) ||
  keepsAddress(compared, change, seen) ||
  isOfNewMode(compared, seen.own);

/** Reports whether the object has an unrecorded value that may be a normalized form of the desired value. */
function mayBeNew({ field, inState, now, desired }: ComparedProperty): boolean {
  const isOpen = inState === undefined && desired !== undefined && ![now, desired].some(isAddress);
  return isOpen && !isNone(now) && !contradicts({ field, now, desired });
}

/** Reports whether a remote value means that the property has no value. */
const isNone = (now: unknown): boolean => (now ?? null) === null || meansNoAddress(now);

/** The reason why the object may have a desired value that the reply doesn't contain. */
export type PossibleReason =
  /** The service may return the former address instead of the mode. */
  | "address"
  /** The service may normalize the value. A separate update of the field would prove this, because the revision wouldn't change. */
  | "normalized"
  /** The update changed nothing visible, so the object may have the value, or may already have had it, in a normalized form. */
  | "former";

/** Returns the reason why the object may have a desired value that the reply doesn't contain. */
export function possibleReasonFor(
  change: Change,
  { object, unapplied, before }: UpdateOutcome,
): PossibleReason | undefined {
  const properties = compareProperties(unapplied, change, object.fields, { isAfterUpdate: true });
  if (properties.some(mayShowMode)) return "address";
  if (properties.some(mayBeOfMode)) return "former";
  const isOneOfMore = unapplied.length < change.fields.length;
  if (isOneOfMore && properties.some((compared) => differsFromDesired(compared) && mayBeAccepted(compared)))
    return "normalized";
  if (before === undefined || !hasRevisionOf(object, before)) return undefined;
  // If the service returns ids instead of names, the name may belong to the current id.
  const isOtherName = ({ field, now, desired }: ComparedProperty): boolean =>
    Object.keys(change.olds.remoteValues ?? {}).length > 0 &&
    field.type === "text" &&
    ![now, desired].some(isAddress);
  return properties.some((compared) => mayBeNew(compared) || isOtherName(compared)) ? "former" : undefined;
}

/**
 * Returns the state after an update. Fields that were not set keep their former values, so that the next `up` detects the difference. If
 * another user has changed the object in the meantime, the state keeps the earlier revision. The next update then doesn't overwrite the
 * change.
 */
export function outputsAfterUpdate(context: Context, change: Change, outcome: UpdateOutcome): Recorded {
  const { olds, news } = change;
  const { object, own, unapplied } = outcome;
  const { remoteValues: remembered = {}, applied = {}, revision } = olds;
  const changed = changedFields(context.kind.fields, olds, news);
  const isNew = (field: Field): boolean =>
    propertiesAfter([field], change, object.fields).some(({ now, known }) => !sameValue(field, now, known));
  const isMade = (field: Field): boolean =>
    !unapplied.includes(field) && (changed.includes(field) || isNew(field));
  const appliedFields = change.fields.filter(isMade);
  const others = context.kind.fields.filter((field) => !appliedFields.includes(field));
  const values = {
    ...argumentsOf(context, news),
    ...Object.fromEntries(unapplied.map(({ name }) => [name, olds[name]])),
  };
  const remoteValues = {
    ...pickFields(others, remembered),
    ...Object.assign({}, ...appliedFields.map((field) => remoteValueAfter(field, change, outcome))),
  };
  // If a mode was just set, a new address may have been set by another user, unless the update's reply contains the address.
  const newMode = appliedFields.find(
    ({ name, wire }) => wire === "public_ip" && isUnspecifiedMode(news[name]),
  );
  const ipAddress = newMode === undefined ? olds.ipAddress : ownAddress(newMode, outcome);
  const marked = appliedFields.filter((field) => field !== newMode);
  const marks = Object.fromEntries(marked.map(({ name }) => [name, { value: news[name] }]));
  const isMode = (value: unknown): boolean => asksForAddress(value) || isUnspecifiedMode(value);
  const modes = others.filter(
    (field) => field.wire === "public_ip" && !changed.includes(field) && isMode(news[field.name]),
  );
  const former = pickFields(
    modes.filter((field) => isMarked(field, change)),
    applied,
  );
  const known = { values, remoteValues, applied: { ...former, ...marks }, ipAddress };
  // The service may omit a new value that means "not set", such as "none" for the address.
  const mayBeOmitted = (field: Field): boolean => field.type === "text" && changed.includes(field);
  const tellable = context.kind.fields.filter((field) => !mayBeOmitted(field));
  const now = withRemovedFields(tellable, object, olds);
  const { drifted, omitted } = compareRemoteValues(context.kind.fields, known, now.fields);
  const mayBeTheirs = ({ name, change: how }: Field): boolean => how === "in place" && omitted.includes(name);
  const isUnseen = outcome.isOthers === true && context.kind.fields.some(mayBeTheirs);
  const ours = { ...object, fields: { ...object.fields, ...own?.fields }, revision, isFromOwnUrl: false };
  // Without a mark, an address that another user set would look like an address that the service assigned.
  const theirs = [...modes, ...(newMode ? [newMode] : [])].filter(({ name }) => drifted.includes(name));
  const ofTheirs = theirs.map(({ name }) => [
    name,
    { value: news[name], word: remoteValues[name] ?? news[name] },
  ]);
  return outputsOf(context, drifted.length === 0 && !isUnseen ? now : ours, {
    hidden: news,
    values,
    remoteValues,
    applied: {
      ...pickFields(others, applied),
      ...formerPairs(change, appliedFields),
      ...unprovenValues(change, outcome, appliedFields),
      ...Object.fromEntries(ofTheirs),
    },
    // The object's own URL may return the new values in a different form than the reply to the update.
    before: { ...olds, revision: undefined, shown: outcome.isEcho ? undefined : olds.shown },
  });
}

/** Reports whether an earlier update has marked a field, because another user had changed the field and the program ignores the change. */
function isMarked({ name }: Field, { olds, news }: Change): boolean {
  const mark = appliedIn(olds.applied ?? {}, name);
  return mark?.word !== undefined && mark.value === news[name];
}

/** Returns the remote value of an applied argument, unless another user has changed it in the meantime. */
function remoteValueAfter(field: Field, change: Change, seen: UpdateOutcome): RemoteValues {
  const { news } = change;
  const { object, own, before } = seen;
  const desired = news[field.name];
  const wordIn = (fields: WireFields): unknown => remoteValueOf(field, fields, desired);
  const shownWord = wordIn(own?.fields ?? {});
  const isFormer = before !== undefined && sameValue(field, shownWord, wordIn(before.fields));
  const ownWord = isFormer ? undefined : shownWord;
  const isSameState = object.revision !== undefined && object.revision === own?.revision;
  const properties = propertiesAfter([field], change, object.fields);
  const isOwn =
    isSameState ||
    (ownWord === undefined
      ? properties.every((compared) => mayBeOwn(compared, change, seen))
      : sameValue(field, wordIn(object.fields), ownWord));
  const ownFields = ownWord === undefined ? {} : (own?.fields ?? {});
  return remoteValuesAfter([field], news, isOwn ? object.fields : ownFields);
}

/**
 * Returns marks for applied values whose remote values are unknown, because another user may have changed them. If the remote value doesn't
 * change when the same value is sent again, it is a normalized form of the applied value.
 */
function unprovenValues(change: Change, seen: UpdateOutcome, appliedFields: readonly Field[]): RemoteValues {
  const { object, own } = seen;
  if (own?.revision !== undefined && own.revision === object.revision) return {};
  const isOpen = (compared: ComparedProperty): boolean =>
    compared.desired !== undefined &&
    compared.isShown &&
    own?.fields[compared.field.wire] === undefined &&
    !mayBeOwn(compared, change, seen);
  const open = propertiesAfter(appliedFields, change, object.fields).filter(isOpen);
  const marks: Record<string, Json> = {};
  for (const { field, path, desired } of open) {
    const [name, label] = [field.name, path[1]];
    const mark = { value: desired };
    marks[name] = label === undefined ? mark : { ...labelsOf(marks[name]), [label]: mark };
  }
  return marks;
}

/** Returns former values with their remote values. A later read can then prove that a former value was applied again. */
function formerPairs({ olds, news }: Change, appliedFields: readonly Field[]): RemoteValues {
  const { remoteValues = {}, applied = {} } = olds;
  return Object.fromEntries(
    appliedFields.flatMap((field): [string, Applied][] => {
      const { name, type } = field;
      const isRemembered = Object.hasOwn(remoteValues, name);
      const pair = isRemembered ? { value: olds[name], word: remoteValues[name] } : appliedIn(applied, name);
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
