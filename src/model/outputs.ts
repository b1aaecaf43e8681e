import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "../api/client";
import { addressesIn, addressFieldsBeside, isAddress } from "./addresses";
import { isSameJson } from "./equality";
import { type Arguments, type Field, instanceFields, type RemoteValues, type WireFields } from "./fields";
import { type Kind, projectKind } from "./kinds";
import { type Labels, labelsOf, showsUpperCaseKey } from "./labels";
import { remoteValuesAfter } from "./remote-values";
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
import { digestUnmanagedFields } from "./unmanaged";

/** What the state had before. All of it is missing for a new object. */
type PriorOutputs = RecordedMembers;

/** What a resource's outputs are made of. */
export interface OutputSources {
  /** The checked inputs, or the state's properties: the hidden ones are kept. */
  readonly hidden: HiddenInputs;
  /** The values of the fields that the program manages. */
  readonly values: Arguments;
  /** The service's own spelling of them, where it differs. */
  readonly words: RemoteValues;
  /** What was applied to those that somebody has changed since. */
  readonly applied?: RemoteValues | undefined;
  /** The outputs before; what this reply does not carry is not known to have changed. */
  readonly before: PriorOutputs;
}

/** The same, and what the object has in fields that the program does not manage. */
interface InstanceOutputSources extends OutputSources {
  readonly unmanaged: RemoteValues | undefined;
}

/** What outputs depend on besides the object: its kind, the address of the service, and the settings. */
interface Service {
  readonly kind: Kind;
  readonly session: {
    readonly client: { readonly endpoint: string };
    readonly settings: { readonly revisionField?: string | undefined };
  };
}

/** A resource's outputs. One that is also an input keeps the input's value, for previews echo inputs. */
export function outputsOf(context: Service, object: ApiObject, known: OutputSources): Recorded {
  const { unmanaged: before } = known.before;
  const unmanaged = digestUnmanagedFields(context.kind.fields, known.values, object.fields, before);
  const own =
    context.kind === projectKind
      ? projectOutputs(object, known)
      : instanceOutputs(context, object, { ...known, unmanaged });
  const state = {
    ...own,
    ...known.values,
    ...hiddenInputsOf(known.hidden),
    endpoint: context.session.client.endpoint,
    isResumed: known.before.isResumed,
    remoteValues: unlessEmpty(known.words),
    applied: unlessEmpty(known.applied),
    unmanaged,
    keepsCase: keepsCase(context, object, known),
    isRevisionInHeader: isInHeader(object, known) ? true : undefined,
    shown: shownProperties(context, object, { ...known, unmanaged }),
  };
  return recorded(toPlainJson(state));
}

/** What the state records of the case of label keys; nothing if no key has capital letters. */
function keepsCase(
  { kind }: Service,
  { fields }: ApiObject,
  { values, before }: OutputSources,
): true | undefined {
  const hasCapitals = showsUpperCaseKey(kind.fields, values, wireOf(kind.fields, values));
  const isKept = before.keepsCase || showsUpperCaseKey(kind.fields, values, fields);
  return hasCapitals && isKept ? true : undefined;
}

/** Whether only the ETag header has the revision. A list has none, and other replies may have none. */
function isInHeader({ isInHeaderOnly, isFromOwnUrl }: ApiObject, { before }: OutputSources): boolean {
  return isInHeaderOnly === true || (!isFromOwnUrl && before.isRevisionInHeader === true);
}

function wireOf(fields: readonly Field[], values: Arguments): WireFields {
  return Object.fromEntries(fields.map(({ name, wire }) => [wire, values[name]]));
}

/** The optional properties that the object's own address shows, unmanaged ones included; after any other reply, as before. */
function shownProperties(
  context: Service,
  { fields, revision, isFromOwnUrl }: ApiObject,
  { values, before, unmanaged = {} }: InstanceOutputSources,
): string[] | undefined {
  const { shown: known = [] } = before;
  const isTold = isFromOwnUrl && revision !== undefined;
  const isShown = (name: string, isThere: boolean): boolean => (isTold ? isThere : known.includes(name));
  const optional = context.kind.fields.filter(
    ({ argument, name }) => argument === "optional" && (values[name] ?? unmanaged[name]) !== undefined,
  );
  const hasAddress = context.kind.fields.flatMap(addressFieldsBeside).some((name) => isAddress(fields[name]));
  const names = [
    ...optional
      .filter(({ name, wire }) => isShown(name, (fields[wire] ?? "") !== ""))
      .map(({ name }) => name),
    ...(isShown(ADDRESS_OUTPUT, hasAddress) ? [ADDRESS_OUTPUT] : []),
  ];
  return names.length > 0 ? names : undefined;
}

/** Properties, or nothing if there are none. */
export function unlessEmpty(properties: RemoteValues = {}): RemoteValues | undefined {
  return Object.keys(properties).length > 0 ? properties : undefined;
}

/** The outputs of an object that is seen for the first time since it was made: its spelling is the service's word from now on. */
export function initialOutputs(
  context: Service,
  object: ApiObject,
  hidden: HiddenInputs,
  values: Arguments,
): Recorded {
  const words = remoteValuesAfter(context.kind.fields, values, object.fields);
  return outputsOf(context, object, { hidden, values, words, before: {} });
}

function projectOutputs({ fields }: ApiObject, { before }: OutputSources): Outputs {
  return {
    description: textOrPrevious(fields, "description", before.description),
    createdAt: sameMoment(textOrPrevious(fields, "created_at", before.createdAt), before.createdAt),
  };
}

const REVISION_FIELDS = ["revision", "etag", "version", "resource_version", "revision_tag"];

function instanceOutputs(
  { session, kind }: Service,
  { id, fields, revision }: ApiObject,
  known: InstanceOutputSources,
): Outputs {
  const { revisionField } = session.settings;
  const { before } = known;
  const addressFields = kind.fields.flatMap((field) => field.addressFields ?? []);
  const own = {
    status: textOrPrevious(fields, "status", before.status),
    createdAt: sameMoment(textOrPrevious(fields, "created_at", before.createdAt), before.createdAt),
    url:
      textOrPrevious(fields, "url", before.url) ??
      `${session.client.endpoint}/instances/${encodeURIComponent(id)}`,
    ipAddress: ipAddress(kind.fields, fields, known),
    additionalProperties: others(fields, [...addressFields, revisionField ?? "revision"], before),
  };
  return { ...own, revision: revision ?? (unchanged(own, known) ? before.revision : undefined) };
}

/** What else the service returned. What a reply does not carry, for list items may be sparse, is as before. */
function others(fields: WireFields, consulted: readonly string[], before: Outputs): Labels {
  const known = labelsOf(before.additionalProperties);
  const shown = new Set([
    ...["id", "status", "created_at", "url", ...REVISION_FIELDS, ...consulted],
    ...instanceFields.map((field) => field.wire),
  ]);
  const found = Object.entries(fields).filter(([name]) => !shown.has(name));
  return {
    ...known,
    ...Object.fromEntries(found.map(([name, value]) => [name, sameAs(value, known[name])])),
  };
}

/** Whether nothing of an object differs: then a reply without a revision says nothing about it. */
function unchanged(own: Outputs, { values, before }: OutputSources): boolean {
  const now = toPlainJson({ ...own, ...values });
  return (
    Object.keys(now).length > 0 &&
    Object.entries(now).every(([name, value]) => isDeepStrictEqual(value, propertyOf(before, name)))
  );
}

/** A text of the reply; what it does not carry is as before, and what it carries empty is none. */
function textOrPrevious(fields: ApiObject["fields"], name: string, before: unknown): unknown {
  const value = fields[name];
  if (value === undefined) return before;
  if (value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A list may show a number where another reply shows a string. */
function sameAs(now: unknown, before: unknown): unknown {
  return isSameJson(now, before) ? before : sameMoment(now, before);
}

/** List items may carry fractions of a second that another reply did not (§2.1): no change of the same moment. */
function sameMoment(now: unknown, before: unknown): unknown {
  return isSameMoment(now, before) ? before : now;
}

/** Whether two dates are the same to the second. */
export function isSameMoment(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map(wholeSecond);
  return a !== undefined && a === b;
}

function wholeSecond(text: unknown): number | undefined {
  if (typeof text !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

function ipAddress(
  fields: readonly Field[],
  object: ApiObject["fields"],
  { values, before, unmanaged = {} }: InstanceOutputSources,
): unknown {
  const [address] = fields.flatMap((field) => addressesIn(field, object));
  const isTold = fields.flatMap(addressFieldsBeside).some((name) => Object.hasOwn(object, name));
  if (address !== undefined || isTold) return address;
  const { unmanaged: { publicIp: others } = {} } = before;
  const isSameMode =
    before.publicIp === values.publicIp && (others === undefined || unmanaged.publicIp !== undefined);
  // The address went with the mode that asked for it.
  return isSameMode ? before.ipAddress : undefined;
}

/** The output that is the public address: its fields are shown beside the property that asks for it. */
const ADDRESS_OUTPUT = "ipAddress";

/**
 * Returns the object with null for each field that has been removed. Many services omit what has no value: what the object's own address has
 * shown, and doesn't show since the object has changed, has been removed. What it has never shown may be there.
 */
export function withRemovedFields(fields: readonly Field[], object: ApiObject, state: Recorded): ApiObject {
  const { shown = [], revision } = state;
  const isChanged = revision !== undefined && object.revision !== undefined && object.revision !== revision;
  if (!object.isFromOwnUrl || !isChanged) return object;
  const removed = fields.filter(
    ({ name, wire }) => shown.includes(name) && object.fields[wire] === undefined,
  );
  const addresses = shown.includes(ADDRESS_OUTPUT)
    ? fields.filter((field) => addressesIn(field, object.fields).length === 0).flatMap(addressFieldsBeside)
    : [];
  const names = [...removed.map(({ wire }) => wire), ...addresses];
  return {
    ...object,
    fields: { ...object.fields, ...Object.fromEntries(names.map((name) => [name, null])) },
  };
}
