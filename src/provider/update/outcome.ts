import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../../api/client";
import {
  addressesIn,
  asksForAddress,
  isAddress,
  isPrivate,
  isUnspecifiedMode,
  meansNoAddress,
  publicAddressIn,
} from "../../model/addresses";
import { changedFields, labelsOf, sameValue } from "../../model/changes";
import { compareRemoteValues } from "../../model/drift";
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
  mayBeNormalizedForm,
} from "../../model/property-comparison";
import { appliedIn, remoteValueOf, remoteValuesAfter } from "../../model/remote-values";
import { type Field, instanceFields, type RemoteValues } from "../../model/resource-fields";
import type { Recorded } from "../../model/state";
import { type Patience, readUntil } from "../absence";
import { argumentsOf, type Context, hasRevisionOf } from "../context";
import type { Change } from "./unfinished";
import { requireUpdatedObject, type WriteResult } from "./write";

/** The object around an update. */
interface Versions {
  /** The object from which the body of the update was built. */
  readonly before?: ApiObject;
  /** The object directly after the update, without later changes. It is unknown if the reply to the update doesn't contain it. */
  readonly own?: ApiObject | undefined;
  /** The latest object. */
  readonly object: ApiObject;
}

/** The result of an update. */
export interface UpdateOutcome extends Versions {
  /** The changed fields for which the service still returns the old value. */
  readonly unapplied: readonly Field[];
  /** Whether another user's update has set the revision of the object, and may have changed properties that the reply omits. */
  readonly isOthers?: boolean;
  /**
   * Whether reads return an older revision than the reply to the update, so that `object` comes from this reply. An `echo` contains all
   * changed fields, and reads don't contradict it. If reads are `lagging`, they contain other values. If they are `outdated`, the reply
   * omits a changed field, so that nothing is known about the update.
   */
  readonly age?: "echo" | "lagging" | "outdated" | undefined;
  /** Whether `object` comes from the reply, because the object's own URL lags. */
  readonly isOwnUrlBehind?: boolean;
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
  const isLagging = ({ age }: UpdateOutcome): boolean => age === "lagging" || age === "outdated";
  const isFormer = ({ object }: UpdateOutcome): boolean => hasRevisionOf(object, written.before);
  const patienceFor = (seen: UpdateOutcome): Patience => {
    if (isPending(written)) return "deadline";
    const mayBeOlder =
      seen.unapplied.length > 0 ||
      context.session.finder.gets.isUnsupported({ kind: context.kind, id: seen.object.id });
    return isLagging(seen) || (isFormer(seen) && mayBeOlder) ? "catching up" : "lag";
  };
  // An omitted or normalized field of an object with its former revision may still change.
  const mayChange = (seen: UpdateOutcome): boolean => {
    const { fields } = seen.object;
    const isOmitted = change.fields.some(
      ({ name, wire }) => change.news[name] !== undefined && fields[wire] === undefined,
    );
    const properties = compareProperties(change.fields, change, fields);
    const isUnproven = properties.some((compared) => isToChange(compared) && mayBeAccepted(compared));
    const mayBeKept = properties.some((compared) => keepsAddress(compared, change, seen));
    const isStillPinned = properties.some((compared) => keepsPinnedAddress(compared, seen));
    const isOpen = isOmitted || isUnproven || isStillPinned || (mayBeKept && patienceFor(seen) !== "lag");
    return isFormer(seen) && isOpen;
  };
  return context.progress.during("waiting for confirmation", () =>
    readUntil(
      context,
      () => readAfterUpdate(context, change, written),
      (seen) => seen.unapplied.length === 0 && !isLagging(seen) && !mayChange(seen),
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
  const { before } = sent;
  const replied = ownReply(change, sent);
  const own = replied ?? (isOnlyChange(change, sent, latest) ? latest : undefined);
  const age = replied && ageOf(latest, replied, change, pastRevisions(change, sent));
  // Fields that the reply omits are unknown, so their values are kept.
  const object = age ? { ...replied, fields: { ...latest.fields, ...replied.fields } } : latest;
  const unapplied = unappliedFields(change, { before, own, object });
  const isOwnUrlBehind = age !== undefined && latest.isFromOwnUrl === true;
  return { before, own, object, unapplied, age, isOwnUrlBehind };
}

/** Compares a read with the reply to the update. Lists may contain no revision. */
function ageOf(
  latest: ApiObject,
  replied: ApiObject,
  change: Change,
  past: readonly (string | undefined)[],
): UpdateOutcome["age"] {
  const isNewer = latest.revision !== undefined && !past.includes(latest.revision);
  if (replied.revision === undefined || isNewer) return undefined;
  if (latest.revision === undefined) return "echo";
  if (change.fields.some(({ wire }) => replied.fields[wire] === undefined)) return "outdated";
  // A revision that is computed from the fields that a GET returns stays the same if the GET doesn't return the changed fields.
  const isDifferent = ({ wire }: Field): boolean =>
    latest.fields[wire] !== undefined && !isDeepStrictEqual(latest.fields[wire], replied.fields[wire]);
  return change.fields.some(isDifferent) ? "lagging" : "echo";
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

/**
 * Returns the changed fields for which the service still returns the old value.
 *
 * Fields that the reply omits are treated as set. A value that contradicts the desired value in both the read and the reply is not treated
 * as set: the reply may contain the former values, and the read may contain a later change by another user.
 */
function unappliedFields(change: Change, seen: Versions): Field[] {
  const { fields, former = {} } = change;
  const propertiesIn = (object?: ApiObject): ComparedProperty[] =>
    object === undefined ? [] : propertiesAfter(fields, change, object);
  const valuesBefore = new Map(propertiesIn(seen.before).map(({ property, now }) => [property, now]));
  const contradicted = propertiesIn(seen.own)
    .filter(contradicts)
    .map(({ property }) => property);
  const unapplied = propertiesIn(seen.object).filter((compared) => {
    const { field, property, isShown, now } = compared;
    // An earlier update of unknown outcome may be applied before this one.
    const isEarlier = property === field.name && Object.hasOwn(former, property);
    const known = [valuesBefore.get(property), ...(isEarlier ? [former[property]] : [])];
    const isAsBefore = isShown && known.some((value) => sameValue(field, now, value));
    const isOtherwise = contradicts(compared) && contradicted.includes(property) && !isNotReturned(compared);
    const isFormer = isAsBefore && !hasNewAddress(compared, seen) && !mayBeSet(compared, change, seen);
    return isToChange(compared) && (isFormer || isOtherwise || isStillPublic(compared, seen));
  });
  return fields.filter((field) => unapplied.some((compared) => compared.field === field));
}

function propertiesAfter(fields: readonly Field[], change: Change, object: ApiObject): ComparedProperty[] {
  const olds = withoutRecasedKeys(fields, change);
  return compareProperties(fields, { olds, news: change.news }, object.fields, { isAfterUpdate: true });
}

/** Returns the state without label keys whose case changes. The service may return the new label under the old key. */
function withoutRecasedKeys(fields: readonly Field[], { olds, news }: Change): Recorded {
  const labels = fields.filter(({ type, keepsCase }) => type === "labels" && !keepsCase);
  const kept = labels.map(({ name }) => {
    const own = Object.keys(labelsOf(news[name]));
    const folded = own.map((key) => key.toLowerCase());
    const isKept = ([key]: [string, unknown]): boolean =>
      own.includes(key) || !folded.includes(key.toLowerCase());
    return [name, Object.fromEntries(Object.entries(labelsOf(olds[name])).filter(isKept))];
  });
  return { ...olds, ...Object.fromEntries(kept) };
}

/**
 * Reports whether a remote value may be the desired value, although it may also be the former value. If the reply was lost, a remote value
 * that a refresh accepted may be a normalized form. Some services keep the revision if nothing changes, or compute the revision from the
 * fields that they return. With a new revision, the update may have changed only other fields.
 */
function mayBeSet(compared: ComparedProperty, change: Change, seen: Versions): boolean {
  const { field, applied, desired } = compared;
  // An earlier update has already set the desired value, and only its normalized form is unknown.
  const isRepeated = applied?.word === undefined && sameValue(field, applied?.value, desired);
  const { before, object } = seen;
  const isSameRevision = before !== undefined && hasRevisionOf(object, before);
  // If the revision was already newer than the state, an earlier attempt of this update may have set the mode.
  const isSuspicious =
    isSameRevision && hasRevisionOf(before, change.olds) && keepsPinnedAddress(compared, seen);
  return (
    hasDesiredValue(compared) ||
    (isNormalizedForm(compared) && !isSuspicious) ||
    isNotReturned(compared) ||
    keepsAddress(compared, change, seen) ||
    ((isRepeated || isSameRevision) && mayBeAccepted(compared))
  );
}

/** Reports whether a refresh has accepted a remote value that may be a normalized form of the desired value. */
const mayBeAccepted = (compared: ComparedProperty): boolean =>
  compared.applied !== undefined && differsFromDesired(compared) && mayBeNormalizedForm(compared);

/** Reports whether the service may return the desired value in this form, so that another user need not have changed it. */
const mayBeOwn = (compared: ComparedProperty, change: Change, seen: Versions): boolean =>
  mayBeSet(compared, change, seen) ||
  mayBeNormalizedForm(compared) ||
  hasSameCharacters(compared) ||
  // The reply would contain a new address.
  (mayBeOfMode(compared) && !isComplete(seen.own));

// A service may return the public address, its mode or neither after an update of the mode.

/** Reports whether the service has assigned an address, although the service doesn't return the new mode. */
function hasNewAddress({ field, now, desired }: ComparedProperty, { before, object }: Versions): boolean {
  if (field.wire !== "public_ip" || now !== null || !asksForAddress(desired)) return false;
  const known = Object.values(before?.fields ?? {});
  return Object.values(object.fields).some((value) => isAddress(value) && !known.includes(value));
}

/** Reports whether the object still has its former public address, although the update has removed the mode or replaced it. */
function isStillPublic({ field, now, desired }: ComparedProperty, { before, object }: Versions): boolean {
  const address = publicAddressIn(field, object.fields);
  const isKept = address !== undefined && address === publicAddressIn(field, before?.fields ?? {});
  return isKept && (now ?? null) === null && !asksForAddress(desired) && !isAddress(desired);
}

/**
 * Reports whether the object may still have its former address, although the update has set a mode. Some services return an address instead
 * of a mode, so a pinned address can't be distinguished from an assigned address. If the state contains a pinned address, only a new
 * revision without other changes proves the update.
 */
function keepsAddress(compared: ComparedProperty, { fields }: Change, seen: Versions): boolean {
  const isProof = seen.own?.revision !== undefined && fields.length === 1;
  return hasFormerAddress(compared, seen) && (isProof || !isPinned(compared));
}

/** Reports whether the object still has an address that a program had set, although the update has set a mode. */
const keepsPinnedAddress = (compared: ComparedProperty, seen: Versions): boolean =>
  isPinned(compared) && hasFormerAddress(compared, seen);

/** Reports whether the state contains an address that a program has set, rather than the address of a mode. */
function isPinned({ inState, applied }: ComparedProperty): boolean {
  const isOfMode = asksForAddress(applied?.value) && (applied?.word === undefined || isAddress(applied.word));
  return isAddress(inState) && !isOfMode;
}

/** Reports whether the remote value is still the address from before the update, although the update has set a mode. */
function hasFormerAddress(compared: ComparedProperty, { before }: Versions): boolean {
  const { field, now } = compared;
  return (
    before !== undefined &&
    mayShowMode(compared) &&
    sameValue(field, now, remoteValueOf(field, before.fields))
  );
}

/** Reports whether the remote value may be an address that the service returns instead of the desired mode. */
function mayShowMode({ field, now, desired, object }: ComparedProperty): boolean {
  const isForMode = field.wire === "public_ip" && isAddress(now) && asksForAddress(desired);
  return isForMode && addressesIn(field, object).every((address) => address === now || isPrivate(address));
}

/** Reports whether the service returns an address or null, which may or may not belong to the desired unspecified mode. */
function mayBeOfMode({ field, now, desired }: ComparedProperty): boolean {
  const isModeHidden = (now ?? null) === null || isAddress(now);
  return field.wire === "public_ip" && isModeHidden && isUnspecifiedMode(desired);
}

/** Returns the public address after an update, unless another user may have set it since the reply to the update. */
function newAddress(fields: readonly Field[], { object, own }: Versions): string | undefined {
  const source = isComplete(own) && own.revision !== object.revision ? own : object;
  return fields.map((field) => publicAddressIn(field, source.fields)).find(isAddress);
}

/** Reports whether the reply to an update contains the object. Such a reply also contains the address, if there is one. */
function isComplete(own: ApiObject | undefined): own is ApiObject {
  const required = instanceFields.filter(({ argument }) => argument === "required");
  return own !== undefined && required.every(({ wire }) => own.fields[wire] !== undefined);
}

/** The reason why an object may have a desired value that the reply doesn't contain. */
export type PossibleReason =
  /** The service may return the former address instead of the mode. */
  | "address"
  /** The service may normalize the value. A separate update of the field would prove this, because the revision wouldn't change. */
  | "normalized"
  /** The update changed nothing visible, so the object may have the value, or may already have had it, in a normalized form. */
  | "former"
  /** Nothing indicates that the object has the value. */
  | "none";

/** Returns the reason why the object may have a desired value that the reply doesn't contain. */
export function possibleReasonFor(change: Change, seen: UpdateOutcome): PossibleReason {
  const { object, unapplied, before } = seen;
  const properties = compareProperties(unapplied, change, object.fields, { isAfterUpdate: true });
  if (properties.some(mayShowMode)) return "address";
  if (properties.some(mayBeOfMode)) return "former";
  const isOneOfMore = unapplied.length < change.fields.length;
  if (isOneOfMore && properties.some(mayBeAccepted)) return "normalized";
  if (before === undefined || !hasRevisionOf(object, before)) return "none";
  // If the service returns ids instead of names, the name may belong to the current id.
  const areNormalized = Object.keys(change.olds.remoteValues ?? {}).length > 0;
  const mayBeForm = (compared: ComparedProperty): boolean => {
    const { field, inState, now, desired } = compared;
    if ([now, desired].some(isAddress)) return false;
    const isNone = (now ?? null) === null || meansNoAddress(now);
    const mayBeNew = inState === undefined && desired !== undefined && !isNone && !contradicts(compared);
    return mayBeNew || (areNormalized && field.type === "text");
  };
  return properties.some(mayBeForm) ? "former" : "none";
}

/**
 * Returns the state after an update. Fields that were not set keep their former values, so that the next `up` detects the difference. If
 * another user has changed the object in the meantime, the state keeps the earlier revision. The next update then doesn't overwrite the
 * change.
 */
export function outputsAfterUpdate(context: Context, change: Change, outcome: UpdateOutcome): Recorded {
  const { fields } = context.kind;
  const { olds, news } = change;
  const { object, own, unapplied } = outcome;
  const { remoteValues: remembered = {}, applied: marks = {}, revision } = olds;
  const changed = changedFields(fields, olds, news);
  const isNew = (field: Field): boolean =>
    propertiesAfter([field], change, object).some(({ now, known }) => !sameValue(field, now, known));
  const appliedFields = change.fields.filter(
    (field) => !unapplied.includes(field) && (changed.includes(field) || isNew(field)),
  );
  const others = fields.filter((field) => !appliedFields.includes(field));
  const values = {
    ...argumentsOf(context, news),
    ...Object.fromEntries(unapplied.map(({ name }) => [name, olds[name]])),
  };
  const records = appliedFields.map((field) => recordOf(field, change, outcome));
  const remoteValues: RemoteValues = Object.assign(
    pickFields(others, remembered),
    ...records.map((record) => record.remoteValues),
  );
  const { publicIp } = news;
  const isAddressIn = (some: readonly Field[]): boolean => some.some(({ name }) => name === "publicIp");
  const isApplied = isAddressIn(appliedFields);
  const isNewMode = isApplied && isUnspecifiedMode(publicIp);
  const isMode = asksForAddress(publicIp) || isUnspecifiedMode(publicIp);
  const isFormerMode = !isApplied && !isAddressIn(changed) && isMode;
  // An earlier update has marked the mode if another user had changed the address and the program ignores the change.
  const former = appliedIn(marks, "publicIp");
  const isMarked = isFormerMode && former?.word !== undefined && former.value === publicIp;
  const newMark = isApplied && !isNewMode ? { value: publicIp } : undefined;
  const known = {
    values,
    remoteValues,
    applied: { publicIp: isMarked ? former : newMark },
    ipAddress: isNewMode ? newAddress(fields, outcome) : olds.ipAddress,
  };
  // The service may omit a new value that means "not set", such as "none" for the address.
  const tellable = fields.filter((field) => field.type !== "text" || !changed.includes(field));
  const now = withRemovedFields(tellable, object, olds);
  const { drifted, omitted } = compareRemoteValues(fields, known, now.fields);
  const isUnseen =
    outcome.isOthers === true &&
    fields.some(({ name, change: how }) => how === "in place" && omitted.includes(name));
  const ours = { ...object, fields: { ...object.fields, ...own?.fields }, revision, isFromOwnUrl: false };
  // Without a mark, an address that another user set would look like an address that the service assigned.
  const isTheirAddress = (isNewMode || isFormerMode) && drifted.includes("publicIp");
  const outs = outputsOf(context, drifted.length === 0 && !isUnseen ? now : ours, {
    hidden: news,
    values,
    remoteValues,
    applied: Object.assign(
      pickFields(others, marks),
      ...records.map((record) => record.applied),
      isTheirAddress && { publicIp: { value: publicIp, word: remoteValues.publicIp ?? publicIp } },
    ),
    // The object's own URL may return the new values in a different form than the reply to the update.
    before: { ...olds, revision: undefined, shown: outcome.isOwnUrlBehind ? undefined : olds.shown },
  });
  return changed.length === 0 ? { ...outs, isEcho: olds.isEcho } : outs;
}

/**
 * Returns the record of an applied argument: its remote value, unless another user has changed it in the meantime, and a mark.
 *
 * A mark without a remote value means that the remote value is unknown. If the remote value doesn't change when the same value is sent
 * again, it is a normalized form of the applied value. Otherwise, the mark is the former value with its remote value. A later read can then
 * prove that the former value was applied again.
 */
function recordOf(
  field: Field,
  change: Change,
  seen: Versions,
): { readonly remoteValues: RemoteValues; readonly applied: RemoteValues } {
  const { olds, news } = change;
  const { name, wire, type } = field;
  const { before, own, object } = seen;
  const valueIn = (version?: ApiObject): unknown => remoteValueOf(field, version?.fields ?? {}, news[name]);
  const others = propertiesAfter([field], change, object).filter(
    (compared) => !mayBeOwn(compared, change, seen),
  );
  // The reply may contain the former value.
  const reply = sameValue(field, valueIn(own), valueIn(before)) ? undefined : own;
  const isSameState = own !== undefined && hasRevisionOf(object, own);
  const replied = valueIn(reply);
  const isUnchanged =
    replied === undefined ? others.length === 0 : sameValue(field, valueIn(object), replied);
  const source = isSameState || isUnchanged ? object : reply;
  const remoteValues = remoteValuesAfter([field], news, source?.fields ?? {});
  const isProven = isSameState || own?.fields[wire] !== undefined;
  const unproven = others.filter(({ isShown, desired }) => !isProven && isShown && desired !== undefined);
  const marks = unproven.map(({ path: [, label], desired: value }) =>
    label === undefined ? { value } : { [label]: { value } },
  );
  if (marks.length > 0) return { remoteValues, applied: { [name]: Object.assign({}, ...marks) } };
  const { remoteValues: remembered = {}, applied = {} } = olds;
  const former = Object.hasOwn(remembered, name)
    ? { value: olds[name], word: remembered[name] }
    : appliedIn(applied, name);
  const isOther =
    type === "text" &&
    typeof former?.word === "string" &&
    !isAddress(former.word) &&
    !sameValue(field, former.value, news[name]);
  return { remoteValues, applied: isOther ? { [name]: former } : {} };
}

function pickFields(fields: readonly Field[], values: RemoteValues): RemoteValues {
  const names = fields.map(({ name }) => name).filter((name) => Object.hasOwn(values, name));
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}
