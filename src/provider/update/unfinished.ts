import type { ApiObject } from "../../api/client";
import { changedFields, labelsOf, type PropertyPaths, sameValue } from "../../model/changes";
import { digestUnmanagedFields, unlessEmpty } from "../../model/outputs";
import type { Pending } from "../../model/pending";
import {
  type ComparedProperty,
  compareProperties,
  hasDesiredValue,
  isNormalizedForm,
  isProven,
  isToChange,
  isUpdateApplied,
} from "../../model/property-comparison";
import { remoteValuesAfter } from "../../model/remote-values";
import type { Arguments, Field, Json, RemoteValues, WireFields } from "../../model/resource-fields";
import type { Desired, DesiredArguments, Recorded, RecordedMembers } from "../../model/state";
import { argumentsOf, type Context } from "../context";

/** An update of an object: the state, the inputs, and the fields to set. */
export interface Change {
  readonly id: string;
  readonly olds: Recorded;
  readonly news: Desired;
  readonly fields: readonly Field[];
  /** The values of an earlier update of unknown outcome that the service may still set. */
  readonly unconfirmed?: RemoteValues | undefined;
  /** All values that the earlier update requested. */
  readonly former?: RemoteValues | undefined;
  /** The object from which the first request body was built. */
  readonly before?: ApiObject;
  /** The paths that the update must not change. */
  readonly ignored: PropertyPaths;
}

/**
 * Returns the values that an update requests, with null for removed values. A desired value that the object already has was set by another
 * user, unless the state or an earlier update of unknown outcome contains the value.
 */
export function requestedChanges(change: Change): RemoteValues {
  const { fields, olds, news, unconfirmed, former = {}, before } = change;
  const properties = (wanted: DesiredArguments): ComparedProperty[] =>
    compareProperties(fields, { olds, news: wanted }, before?.fields ?? {});
  const known = properties(former).filter(({ desired }) => (desired ?? undefined) !== undefined);
  const theirs = properties(news).filter(
    (compared) =>
      compared.inState === undefined &&
      (hasDesiredValue(compared) || isNormalizedForm(compared)) &&
      !known.some(({ property }) => property === compared.property),
  );
  const asked: Record<string, Json> = { ...unconfirmed };
  for (const field of changedFields(fields, olds, news)) {
    const { name } = field;
    const keys = theirs.filter((compared) => compared.field === field).map(({ path: [, key] }) => key);
    const isOwn = ([key]: [string, unknown]): boolean => !keys.includes(key) && !keys.includes(undefined);
    // If the value isn't a map, nothing is left.
    const left = Object.fromEntries(Object.entries(labelsOf(news[name])).filter(isOwn));
    if (keys.length === 0) asked[name] = news[name] ?? null;
    else if (!sameValue(field, left, olds[name] ?? {})) asked[name] = left;
  }
  return asked;
}

/**
 * Compares the values that an update of unknown outcome requested with the object. The state keeps its revision, so that a later update
 * doesn't overwrite changes by other users.
 *
 * @param isNormalized whether a different value is a normalized form of the desired one
 * @returns the properties of the state that the update has changed, and the values that the service may still set
 */
export function compareRequested(
  { kind }: Context,
  state: Recorded,
  { asked = {} }: Pending,
  { fields: now }: ApiObject,
  isNormalized: (compared: ComparedProperty) => boolean = isNormalizedForm,
): { readonly made: RecordedMembers; readonly unapplied: RemoteValues | undefined } {
  const { remoteValues = {}, applied = {}, shown = [] } = state;
  const values = Object.entries<Json>(asked).map(([name, value]) => [name, value ?? undefined] as const);
  const news: Arguments = { ...argumentsOf({ kind }, state), ...Object.fromEntries(values) };
  const changed = kind.fields.filter(({ name }) => Object.hasOwn(asked, name));
  const properties = compareProperties(changed, { olds: state, news }, now);
  const isNew = isNewSince(kind.fields, state, now);
  const isOwn = isUpdateApplied(properties, (compared) => isNew(compared) && isNormalized(compared));
  const isMade = (compared: ComparedProperty): boolean => {
    // A property that the reply omits may have been removed after the update.
    const { isShown, desired, field } = compared;
    const isSeen = isShown || (desired === undefined && shown.includes(field.name));
    return isProven(compared) || (isOwn && isSeen);
  };
  const made = changed.filter((field) =>
    properties.every((compared) => compared.field !== field || isMade(compared)),
  );
  const names = made.map(({ name }): string => name);
  const others = (all: RemoteValues): RemoteValues =>
    Object.fromEntries(Object.entries<Json>(all).filter(([name]) => !names.includes(name)));
  const remote = remoteValuesAfter(made, news, withFormerLabels(now, properties));
  return {
    made: {
      ...Object.fromEntries(made.map(({ name }) => [name, news[name]])),
      remoteValues: { ...others(remoteValues), ...remote },
      applied: others(applied),
    },
    unapplied: unlessEmpty(others(asked)),
  };
}

/**
 * Returns the state with the unrecorded values that an unconfirmed update has set, so that a later update can remove them. All other values
 * of the object, including former values, are left out.
 */
export function withUnconfirmed(
  fields: readonly Field[],
  state: Recorded,
  asked: RemoteValues,
  now: WireFields,
): Recorded {
  const isNew = isNewSince(fields, state, now);
  const changed = fields.filter(({ name }) => (asked[name] ?? undefined) !== undefined);
  const properties = compareProperties(changed, { olds: state, news: asked }, now);
  const made = properties.filter(
    (compared) =>
      compared.inState === undefined &&
      isNew(compared) &&
      (hasDesiredValue(compared) || isNormalizedForm(compared)),
  );
  const values: Record<string, Json> = {};
  for (const { field, path, desired } of made) {
    const [name, key] = [field.name, path[1]];
    values[name] = key === undefined ? desired : { ...labelsOf(values[name] ?? state[name]), [key]: desired };
  }
  return { ...state, ...values };
}

/** Returns a function that reports whether a property is managed, or has changed since the object was last read. */
function isNewSince(
  fields: readonly Field[],
  state: Recorded,
  now: WireFields,
): (compared: ComparedProperty) => boolean {
  const { unmanaged: before = {} } = state;
  const after = digestUnmanagedFields(fields, state, now) ?? {};
  return ({ field: { name } }) => after[name] === undefined || after[name] !== before[name];
}

/**
 * Returns the object with the former values of labels that the update doesn't change. Different current values were set by another user.
 */
function withFormerLabels(now: WireFields, properties: readonly ComparedProperty[]): WireFields {
  const former = properties.filter((compared) => compared.path.length > 1 && !isToChange(compared));
  const wire = former[0]?.field.wire;
  if (wire === undefined) return now;
  const labels = former.map(({ path: [, key = ""], known }) => [key, known]);
  return { ...now, [wire]: { ...labelsOf(now[wire]), ...Object.fromEntries(labels) } };
}
