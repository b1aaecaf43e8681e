import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../api/client";
import { REVISION_FIELDS } from "../api/objects";
import { addressesIn, addressFieldsBeside, isAddress, isPrivate } from "./addresses";
import { isSameJson, type Labels, labelsOf } from "./changes";
import { remoteKeysOf, remoteValuesAfter } from "./remote-values";
import {
  type Arguments,
  type Field,
  instanceFields,
  type Json,
  type Kind,
  projectKind,
  type RemoteValues,
  type WireFields,
} from "./resource-fields";
import {
  type HiddenInputs,
  hiddenInputsOf,
  type Outputs,
  propertyOf,
  type Recorded,
  type RecordedMembers,
  recorded,
  toPlainJson,
} from "./state";

export interface OutputSources {
  /** The inputs or the state whose hidden inputs are copied to the outputs. */
  readonly hidden: HiddenInputs;
  readonly values: Arguments;
  /** The remote values that differ from the arguments. */
  readonly remoteValues: RemoteValues;
  /** The applied values of arguments that another user has changed since then. */
  readonly applied?: RemoteValues | undefined;
  /** The previous state, which is empty for a new object. Fields that a reply omits keep their values. */
  readonly before: RecordedMembers;
}

/** The part of a call's context that is needed for the outputs. */
interface Service {
  readonly kind: Kind;
  readonly session: {
    readonly client: { readonly endpoint: string };
    readonly settings: { readonly revisionField?: string | undefined };
  };
}

/** Returns the outputs of a resource. An output with the name of an argument has the argument's value, as in previews. */
export function outputsOf(context: Service, object: ApiObject, known: OutputSources): Recorded {
  const { before } = known;
  const { fields } = object;
  const unmanaged = digestUnmanagedFields(context.kind.fields, known.values, fields, before.unmanaged);
  const description = textOrPrevious(fields, "description", before.description);
  const own =
    context.kind === projectKind
      ? { description, createdAt: createdAt(fields, before) }
      : instanceOutputs(context, object, known, unmanaged);
  const state = {
    ...own,
    ...known.values,
    ...hiddenInputsOf(known.hidden),
    endpoint: context.session.client.endpoint,
    remoteValues: unlessEmpty(known.remoteValues),
    applied: unlessEmpty(known.applied),
    unmanaged,
    keepsCase: keepsCase(context.kind, object, known),
    // Lists have no ETag header, and other replies may omit the header.
    isRevisionInHeader:
      object.isInHeaderOnly || (!object.isFromOwnUrl && before.isRevisionInHeader) ? true : undefined,
    shown: shownProperties(context, object, known, unmanaged),
  };
  return recorded(toPlainJson(state));
}

/** Reports whether the service preserves the case of label keys. Returns `undefined` if no key has capital letters. */
function keepsCase({ fields }: Kind, object: ApiObject, { values, before }: OutputSources): true | undefined {
  const areShown = fields.flatMap(({ type, name, wire }) => {
    const own = type === "labels" ? Object.keys(labelsOf(values[name])) : [];
    const shown = labelsOf(object.fields[wire]);
    return own.filter((key) => key !== key.toLowerCase()).map((key) => Object.hasOwn(shown, key));
  });
  return areShown.length > 0 && (before.keepsCase || areShown.includes(true)) ? true : undefined;
}

/**
 * Returns the names of the optional properties that the object's own URL has returned, because other replies may omit properties. Returns
 * `undefined` if the object's own URL has never returned the object with its revision.
 */
function shownProperties(
  { kind }: Service,
  { fields, revision, isFromOwnUrl }: ApiObject,
  { values, before }: OutputSources,
  unmanaged: RemoteValues = {},
): readonly string[] | undefined {
  const optional = kind.fields.filter(
    ({ argument, name }) => argument === "optional" && (values[name] ?? unmanaged[name]) !== undefined,
  );
  if (!isFromOwnUrl || revision === undefined) {
    const names = [...optional.map(({ name }): string => name), ADDRESS_OUTPUT];
    return before.shown?.filter((name) => names.includes(name));
  }
  const shown = optional.filter(({ wire }) => (fields[wire] ?? "") !== "").map(({ name }) => name);
  const hasAddress = kind.fields.flatMap(addressFieldsBeside).some((name) => isAddress(fields[name]));
  return hasAddress ? [...shown, ADDRESS_OUTPUT] : shown;
}

export function unlessEmpty(properties: RemoteValues = {}): RemoteValues | undefined {
  return Object.keys(properties).length > 0 ? properties : undefined;
}

/** Returns the outputs of an object that is read for the first time. The values of the object become the recorded remote values. */
export function initialOutputs(
  context: Service,
  object: ApiObject,
  hidden: HiddenInputs,
  values: Arguments,
): Recorded {
  const remoteValues = remoteValuesAfter(context.kind.fields, values, object.fields);
  return outputsOf(context, object, { hidden, values, remoteValues, before: {} });
}

function instanceOutputs(
  { session, kind }: Service,
  { id, fields, revision }: ApiObject,
  known: OutputSources,
  unmanaged: RemoteValues | undefined,
): Outputs {
  const { before } = known;
  const { endpoint } = session.client;
  const url = textOrPrevious(fields, "url", atEndpoint(endpoint, before));
  const own = {
    status: textOrPrevious(fields, "status", before.status),
    createdAt: createdAt(fields, before),
    url: url ?? `${endpoint}/instances/${encodeURIComponent(id)}`,
    ipAddress: ipAddress(kind.fields, fields, known, unmanaged),
    additionalProperties: others({ session, kind }, fields, before),
  };
  return { ...own, revision: revision ?? (unchanged(own, known) ? before.revision : undefined) };
}

function createdAt(fields: WireFields, before: Outputs): unknown {
  return sameMoment(textOrPrevious(fields, "created_at", before.createdAt), before.createdAt);
}

/** Returns the recorded URL of an object. If the service has moved, returns the URL at the new endpoint. */
function atEndpoint(endpoint: string, { url, endpoint: former }: OutputSources["before"]): unknown {
  const isBelow = former !== undefined && typeof url === "string" && url.startsWith(`${former}/`);
  return isBelow ? endpoint + url.slice(former.length) : url;
}

function additionalFields({ kind, session }: Service, fields: WireFields): [string, Json][] {
  const { revisionField = "revision" } = session.settings;
  const known = new Set([
    ...["id", "status", "created_at", "url", ...REVISION_FIELDS, revisionField],
    ...instanceFields.map((field) => field.wire),
    ...kind.fields.flatMap((field) => field.addressFields ?? []),
  ]);
  return Object.entries(fields).filter(([name]) => !known.has(name));
}

/** Returns the names of the additional properties that an object has had, and no longer has. */
export function removedAdditionalProperties(service: Service, before: ApiObject, now: ApiObject): string[] {
  // Other replies, such as lists, may contain fewer fields.
  if (before.isFromOwnUrl !== now.isFromOwnUrl) return [];
  const isEmpty = (value: unknown): boolean => value === undefined || digestOf(value) === undefined;
  return additionalFields(service, before.fields)
    .filter(([name, value]) => !isEmpty(value) && isEmpty(now.fields[name]))
    .map(([name]) => name);
}

/** Returns the additional properties of the reply. Properties that the reply omits are kept, because list items may omit properties. */
function others(service: Service, fields: WireFields, before: Outputs): Labels {
  const known = labelsOf(before.additionalProperties);
  const steady = additionalFields(service, fields).map(([name, now]) => {
    const before = known[name];
    // A list may contain a number where another reply contains a string.
    return [name, isSameJson(now, before) ? before : sameMoment(now, before)];
  });
  return { ...known, ...Object.fromEntries(steady) };
}

/** Reports whether nothing has changed. If the reply contains no revision, the recorded revision then still applies. */
function unchanged(own: Outputs, { values, before }: OutputSources): boolean {
  const now = toPlainJson({ ...own, ...values });
  return Object.entries(now).every(([name, value]) => isDeepStrictEqual(value, propertyOf(before, name)));
}

/** Returns a string field. If the reply omits the field, returns the former value. If the field is null, returns `undefined`. */
function textOrPrevious(fields: ApiObject["fields"], name: string, before: unknown): unknown {
  const value = fields[name];
  if (value === undefined) return before;
  if (value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Keeps the former date if only fractions of a second differ, because only some replies contain fractions (§2.1). */
function sameMoment(now: unknown, before: unknown): unknown {
  return isSameMoment(now, before) ? before : now;
}

/** Reports whether two dates are equal to the second. */
export function isSameMoment(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map(momentOf);
  return a !== undefined && a.wholeSecond === b?.wholeSecond;
}

/**
 * Reports whether a date is later than another date by more than the given number of seconds. A difference of one second proves nothing,
 * because replies may round fractions differently. A date without a time zone may be a local date of the service, so it can be compared
 * only with another such date.
 */
export function isLaterMoment(one: unknown, other: unknown, seconds = 1): boolean {
  const [a, b] = [one, other].map(momentOf);
  if (a === undefined || b === undefined || a.hasTimeZone !== b.hasTimeZone) return false;
  return a.wholeSecond > b.wholeSecond + seconds;
}

function momentOf(text: unknown): { hasTimeZone: boolean; wholeSecond: number } | undefined {
  const date = inUtc(text);
  if (typeof date !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(date)) return undefined;
  const ms = Date.parse(date);
  // Some services return the first moment of year 1 or of 1970 instead of no date.
  return ms > 0 ? { hasTimeZone: date === text, wholeSecond: Math.floor(ms / 1000) } : undefined;
}

/** Adds the time zone UTC to a date without a time zone (§2.1). Only some replies may omit the time zone of the same date. */
export function inUtc(date: unknown): unknown {
  return typeof date === "string" && !/(Z|[+-]\d\d:?\d\d)$/i.test(date) ? `${date}Z` : date;
}

function ipAddress(
  fields: readonly Field[],
  object: ApiObject["fields"],
  { values, before }: OutputSources,
  unmanaged: RemoteValues = {},
): unknown {
  const addresses = fields.flatMap((field) => addressesIn(field, object));
  const address = addresses.find((one) => !isPrivate(one)) ?? addresses[0];
  const isComplete = fields.flatMap(addressFieldsBeside).some((name) => Object.hasOwn(object, name));
  if (address !== undefined || isComplete) return address;
  const { unmanaged: { publicIp: others } = {} } = before;
  const isSameMode =
    before.publicIp === values.publicIp && (others === undefined || unmanaged.publicIp !== undefined);
  // If the mode has changed, the address may also have changed.
  return isSameMode ? before.ipAddress : undefined;
}

/** The name of the output that contains the public address. The mode of the address is in the output `publicIp`. */
const ADDRESS_OUTPUT = "ipAddress";

/**
 * Returns the object with null for each removed field, because many services omit empty fields. A field was removed if an earlier reply
 * contained the field, and the reply at a later revision omits it. Only replies from the object's own URL are considered.
 */
export function withRemovedFields(fields: readonly Field[], object: ApiObject, state: Recorded): ApiObject {
  const { revision } = state;
  const isChanged = revision !== undefined && object.revision !== undefined && object.revision !== revision;
  if (!object.isFromOwnUrl || !isChanged) return object;
  const absent = omittedFields(fields, object, state).map((name) => [name, null]);
  return { ...object, fields: { ...object.fields, ...Object.fromEntries(absent) } };
}

/** Returns the fields that an earlier reply contained, and that the given one omits. */
export function omittedFields(
  fields: readonly Field[],
  object: ApiObject,
  { shown = [] }: Recorded,
): string[] {
  const isOmitted = ({ name, wire }: Field): boolean =>
    shown.includes(name) && object.fields[wire] === undefined;
  const addresses = shown.includes(ADDRESS_OUTPUT)
    ? fields.filter((field) => addressesIn(field, object.fields).length === 0).flatMap(addressFieldsBeside)
    : [];
  return [...fields.filter(isOmitted).map(({ wire }) => wire), ...addresses];
}

const DIGEST_CHARACTERS = 12;

/** Returns digests of the unmanaged fields, which later reveal changes by other users. Omitted fields keep their digests. */
export function digestUnmanagedFields(
  fields: readonly Field[],
  values: Arguments,
  object: WireFields,
  before: RemoteValues = {},
): RemoteValues | undefined {
  const found = fields.flatMap((field): [string, Json][] => {
    const digest =
      object[field.wire] === undefined ? before[field.name] : digestOf(unmanagedValue(field, values, object));
    const isManaged = field.type !== "labels" && values[field.name] !== undefined;
    return isManaged || digest === undefined ? [] : [[field.name, digest]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Returns the remote value of an unmanaged field. For labels, returns only the unmanaged labels. */
function unmanagedValue(field: Field, values: Arguments, object: WireFields): Json {
  const { name, wire, type } = field;
  if (type !== "labels") return object[wire];
  const shown = labelsOf(object[wire]);
  const own = new Set(remoteKeysOf(field, shown, Object.keys(labelsOf(values[name]))).values());
  const others = Object.entries(shown).filter(([key]) => !own.has(key));
  return others.sort(([a], [b]) => (a < b ? -1 : 1));
}

function digestOf(value: unknown): string | undefined {
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return undefined;
  const text = JSON.stringify(value, (_key, inner) => (typeof inner === "number" ? String(inner) : inner));
  return hash("sha256", text).slice(0, DIGEST_CHARACTERS);
}
