import type { Accepted, ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import { propertyPath } from "../../diagnostics/problem";
import { meansNoAddress } from "../../model/addresses";
import { isIgnored, mentionsProperty, withReplaceOnChanges } from "../../model/changes";
import { digestUnmanagedFields, withRemovedFields } from "../../model/outputs";
import {
  type ComparedProperty,
  compareProperties,
  isChangedByOthers,
  isNormalizedForm,
  isProven,
  isToChange,
  isUpdateApplied,
} from "../../model/property-comparison";
import { requireUnmanagedShown, updateBody } from "../../model/request-body";
import type { ArgumentName, Field } from "../../model/resource-fields";
import { secretsOf } from "../../model/secrets";
import { readUntil } from "../absence";
import { type Context, hasRevisionOf, mayBeInOtherForm } from "../context";
import { presentUnlessRenamed } from "./changed-id";
import { conflictTable, namesOf } from "./conflict-table";
import { type Change, withUnconfirmed } from "./unfinished";

/** The result of an update: the service accepted the PUT, or the object already had the desired values. */
export type WriteResult =
  | { readonly kind: "already applied"; readonly object: ApiObject; readonly isOthers: boolean }
  | {
      readonly kind: "accepted";
      readonly accepted: Accepted;
      /** The object from which the body was built. If-Match contains its revision. */
      readonly before: ApiObject;
    };

const MAX_ATTEMPTS = 4;

/**
 * Returns the object from which to build the body of the update, and whether the object already has the desired values. The update is sent
 * in any case, unless it may overwrite omitted properties.
 *
 * @param current the object as it was just read
 * @throws CloudInfraError `revision_conflict` with a three-way comparison. In that case, nothing is overwritten
 */
export async function prepareWrite(
  context: Context,
  change: Change,
  current: ApiObject,
): Promise<{ before: ApiObject; isMade: boolean }> {
  // Otherwise, the object may be newer than the state, or older because reads lag. Only a PUT or another read can determine which.
  const isAgain = hasRevisionOf(current, change.olds) || judged(context, change, current) === "retry";
  const before = isAgain ? current : await newerThan(context, change, current);
  const isMade = !mayBeInOtherForm(before, change.olds) && verdict(context, change, before) === "applied";
  return { before, isMade };
}

/**
 * Sends the update. If-Match contains the revision at which the unmanaged fields were read (§4.5), so a lagging read can't overwrite
 * anything. If that revision is outdated, reads the object again and retries, unless a managed property has changed.
 *
 * @param first the object of `prepareWrite`
 * @throws CloudInfraError `revision_conflict` with a three-way comparison. Nothing is overwritten. If `sent` is set, an earlier attempt may
 * have been applied
 */
export async function writeUpdate(context: Context, change: Change, first: ApiObject): Promise<WriteResult> {
  let before = first;
  let beforeUnknown: readonly ComparedProperty[] | undefined;
  let refusal: CloudInfraError | undefined;
  try {
    for (let tries = 1; ; tries++) {
      const revision = revisionOf(context, before, refusal);
      const answer = await put(context, change, before, revision);
      if (!isCloudInfraError(answer)) return { kind: "accepted", accepted: answer, before };
      refusal = answer;
      if (answer.sent)
        beforeUnknown = mayBeInOtherForm(before, change.olds) ? [] : compare(context, change, before);
      // The service has a different revision, so a read that returns the same revision is outdated.
      // A failed read doesn't mean that the rejected request has been applied.
      before = await newerThan(context, change, before).catch((error: unknown) => {
        throw isCloudInfraError(error) ? withDetails(error, { sent: false }) : error;
      });
      if (verdict(context, change, before, beforeUnknown, refusal) === "applied")
        return { kind: "already applied", object: before, isOthers: beforeUnknown === undefined };
      if (tries === MAX_ATTEMPTS || before.revision === revision)
        throw tooManyConflicts(context, before, refusal, tries);
    }
  } catch (error) {
    throw beforeUnknown !== undefined && isCloudInfraError(error)
      ? withDetails(error, { sent: true })
      : error;
  }
}

/** Sends one PUT (§4.5) with a body that is built from the object. @returns the rejection if the revision is outdated */
async function put(
  context: Context,
  change: Change,
  before: ApiObject,
  revision: string,
): Promise<Accepted | CloudInfraError> {
  const { id, olds, news, unconfirmed = {}, ignored } = change;
  const { client, finder } = context.session;
  const { fields } = context.kind;
  requireUnmanagedShown(context.kind, change, before);
  const managed = withUnconfirmed(fields, olds, unconfirmed, before.fields);
  const sources = { olds: managed, news, current: before.fields, ignored };
  const body = updateBody(fields, sources);
  try {
    return await client.instances.update(id, body, revision, context).finally(() => finder.invalidate());
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "revision_conflict") return error;
    if (error.code !== "not_found") throw withHintForUnchanged(error, fields, change);
    const { sent } = error;
    await requireUpdatedObject(context, change).catch((absence: unknown) => {
      throw isCloudInfraError(absence) ? withDetails(absence, { sent }) : absence;
    });
    throw error;
  }
}

/** Replaces the hint if the service rejects only properties that the update repeats unchanged, because the program's values are correct. */
function withHintForUnchanged(error: CloudInfraError, fields: readonly Field[], change: Change) {
  const rejected = (error.problem?.errors ?? []).map((fault) => propertyPath(fault, (wire) => wire) ?? "");
  const named = fields.filter(({ wire }) => rejected.some((path) => path.split(/[.[]/, 1)[0] === wire));
  if (error.code !== "refused" || named.length === 0 || named.some((field) => change.fields.includes(field)))
    return error;
  const names = named.map(({ name }) => name).join(", ");
  const hint =
    `Check in the service why it rejects ${names}: the update doesn't change ${names}, but contains all arguments. ` +
    "If the service doesn't accept this property in updates, report it to the maintainers of pulumi-cloudinfra";
  return withDetails(error, { hint });
}

/** Reads an object that must exist, and that a PUT may have changed. */
export function requireUpdatedObject(context: Context, { id, olds, news }: Change): Promise<ApiObject> {
  return presentUnlessRenamed(context, id, olds, { asked: { name: news.name } });
}

/** Reads the object until its revision changes, or until reads no longer lag. */
function newerThan(context: Context, change: Change, before: ApiObject): Promise<ApiObject> {
  return readUntil(
    context,
    () => requireUpdatedObject(context, change),
    ({ revision }) => revision !== before.revision,
    () => "catching up",
  );
}

/**
 * Returns the comparison with null for each field that another user has removed. Other missing fields may have been removed by this update
 * or an unconfirmed one. Ignored properties in the reply are left out, because the body repeats their current values.
 */
function compare({ kind: { fields } }: Context, change: Change, object: ApiObject): ComparedProperty[] {
  const { ignored, news, olds } = change;
  const others = fields.filter(
    (field) =>
      !(change.fields.includes(field) && news[field.name] === undefined) &&
      !mayEmpty(change, field.name) &&
      !mentionsProperty(ignored, field.name),
  );
  const all = compareProperties(fields, change, withRemovedFields(others, object, olds).fields);
  return all.filter(({ isShown, path }) => !(isShown && isIgnored(ignored, path)));
}

/** Reports whether an earlier update of unknown outcome requested an empty value. */
function mayEmpty({ unconfirmed = {} }: Change, name: ArgumentName): boolean {
  if (!Object.hasOwn(unconfirmed, name)) return false;
  const value = unconfirmed[name];
  const isEmptyObject = typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return value === null || isEmptyObject || meansNoAddress(value);
}

/**
 * Decides whether the update is already applied, or can be sent or retried because no managed property has changed. Otherwise, returns the
 * conflicting properties, including properties that the reply omits.
 *
 * @param beforeUnknown the comparison before a request that may have been applied, if there was one
 */
function judged(
  context: Context,
  change: Change,
  object: ApiObject,
  beforeUnknown?: readonly ComparedProperty[],
): "applied" | "retry" | readonly ComparedProperty[] {
  const { olds, unconfirmed = {} } = change;
  const { unmanaged: before = {}, shown = [] } = olds;
  const now = digestUnmanagedFields(context.kind.fields, olds, object.fields) ?? {};
  const isRecorded = hasRevisionOf(object, olds);
  // If the object's own URL has returned the field before, an earlier update of unknown outcome has probably removed the value.
  const properties = compare(context, change, object).filter(
    ({ isShown, field: { name } }) => isShown || !shown.includes(name) || !mayEmpty(change, name),
  );
  const isOwn =
    beforeUnknown !== undefined &&
    !beforeUnknown.some(isChangedByOthers) &&
    isUpdateApplied(properties, isNormalizedForm);
  // A refresh doesn't update the digests at the recorded revision, so it couldn't resolve a conflict.
  const isKnown = ({ inState, field: { name } }: ComparedProperty): boolean =>
    inState === undefined && (isRecorded || now[name] === before[name]);
  const conflict = properties.filter(
    (compared) => isChangedByOthers(compared) && !(isOwn && isToChange(compared)) && !isKnown(compared),
  );
  if (conflict.length > 0) return conflict;
  // Many services omit empty fields, so an omitted property may be empty.
  const isNew = object.revision !== undefined && !isRecorded;
  const changed = properties.filter(isToChange);
  // If the program contains the former values again, the update repeats the values that an earlier update may have replaced.
  const isRepeated = ({ name }: Field): boolean => changed.length === 0 && Object.hasOwn(unconfirmed, name);
  const omitted = properties.filter(
    ({ isShown, inState, desired, field }) =>
      isNew &&
      !isShown &&
      inState !== undefined &&
      desired !== undefined &&
      field.change === "in place" &&
      !isRepeated(field),
  );
  // The object may be older than the state. A PUT reveals this, but may overwrite changes to omitted properties.
  const isUnproven = beforeUnknown === undefined && omitted.length === 0;
  const isMade = isOwn || (!isUnproven && changed.every(isProven));
  // A former value that is desired again proves nothing, because an earlier update may still replace it.
  if (isMade && change.unconfirmed === undefined) return "applied";
  return omitted.length === 0 || (isMade && changed.length > 0) ? "retry" : omitted;
}

/** @throws CloudInfraError `revision_conflict` if another user changed a managed property */
function verdict(
  context: Context,
  change: Change,
  object: ApiObject,
  beforeUnknown?: readonly ComparedProperty[],
  refusal?: CloudInfraError,
): "applied" | "retry" {
  const found = judged(context, change, object, beforeUnknown);
  if (typeof found === "string") return found;
  const secrets = secretsOf(change.olds, change.news, ...context.secretSources);
  const names = namesOf(found, secrets);
  // A list may contain an unrelated field instead of the revision, or values in a different form. With `--target`, a refresh uses no list.
  const refresh = "`pulumi refresh --target <urn>`";
  const { replaceOnChanges } = context.session.tracker.optionsOf(change.news.key);
  const isReplacement = found.some(({ field, path: [, label], now, desired }) => {
    const inputs = (value: unknown) => ({ [field.name]: label === undefined ? value : { [label]: value } });
    const values = { olds: inputs(now), news: inputs(desired) };
    const [judged] = withReplaceOnChanges([field], replaceOnChanges, values);
    return judged?.change === "replace";
  });
  const [message, hint] = found.some(({ isShown }) => isShown)
    ? [
        beforeUnknown !== undefined && found.every(isToChange)
          ? `a reply to this update was lost, and either this update or another client changed ${names} of ${context.kind.name} ${change.id}`
          : `another client changed ${names} of ${context.kind.name} ${change.id}`,
        `To ${isReplacement ? `replace the ${context.kind.name}` : "apply the program's values"}, run ${refresh}, then \`pulumi up\`. ` +
          "To keep the current values, first copy them into the program",
      ]
    : [
        `${context.kind.name} ${change.id} has changed, and the service doesn't return ${names}`,
        `Check in the service which values have changed, and copy the values to keep into the program. After ${refresh}, the next ` +
          "`pulumi up` applies the program's values. To apply a property that is listed in ignoreChanges, first remove the property from that list",
      ];
  throw new CloudInfraError("revision_conflict", message, {
    ...requestOf(refusal),
    lines: conflictTable(compare(context, change, object), found, secrets),
    hint: `${hint}. Nothing was overwritten`,
  });
}

function revisionOf({ kind }: Context, { id, revision }: ApiObject, refusal?: CloudInfraError): string {
  if (revision !== undefined) return revision;
  const message = `${kind.name} ${id} has no revision, which an update requires`;
  const hint = "If the service has a field for the revision, set cloudinfra:revisionField to its name";
  throw new CloudInfraError("bad_reply", message, { ...requestOf(refusal), hint });
}

function tooManyConflicts(
  context: Context,
  { id, revision }: ApiObject,
  refusal: CloudInfraError,
  tries: number,
): CloudInfraError {
  const often = tries === 1 ? "" : ` ${tries} times`;
  const again = "Run `pulumi up` again later: another client keeps changing the object";
  const field =
    "Run `pulumi up` again later, because the service may have returned an outdated revision. " +
    "If the error persists, set cloudinfra:revisionField to the name of the field that contains the revision";
  const message = `the service rejected revision ${revision} of ${context.kind.name} ${id}${often}, although no managed property has changed`;
  const hint = `${tries === MAX_ATTEMPTS ? again : field}. Nothing was overwritten`;
  return new CloudInfraError("revision_conflict", message, { ...requestOf(refusal), hint });
}

function requestOf(refusal: CloudInfraError | undefined) {
  if (refusal === undefined) return {};
  const { method, path, traceId, attempts } = refusal;
  return { method, path, traceId, attempts, cause: refusal };
}
