import type { Accepted, ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import { isIgnored, type PropertyPaths, withReplaceOnChanges } from "../../model/changes";
import type { Field, RemoteValues } from "../../model/fields";
import { requireUnmanagedShown, updateBody } from "../../model/request-body";
import { secretsOf } from "../../model/secrets";
import type { Desired, Recorded } from "../../model/state";
import { isToChange, type PropertySides, sidesOf } from "../../model/three-way";
import { digestUnmanagedFields } from "../../model/unmanaged";
import type { Context } from "../context";
import { readUntil } from "../lagging-reads";
import { conflictTable, judgeConflict, namesOf, type Verdict } from "./conflict";
import { presentUnlessRenamed } from "./renamed";
import { withUnsettled } from "./requested";

/** An update of one object: what the state has, what the program asks for, and the fields to set. */
export interface Change {
  readonly id: string;
  readonly olds: Recorded;
  readonly news: Desired;
  readonly fields: readonly Field[];
  /** What an earlier update asked for and is not known to have set or not: the service may still set it. */
  readonly unsettled?: RemoteValues | undefined;
  /** All that the earlier update asked for. */
  readonly former?: RemoteValues | undefined;
  /** The object that the first body was made from. */
  readonly before?: ApiObject;
  /** What is left as it is. @default what the option `ignoreChanges` lists: it says nothing about a creation */
  readonly ignored?: PropertyPaths;
}

/** How an update got through: its PUT was accepted, or there was nothing left to do. */
export type WriteResult =
  | { readonly kind: "there"; readonly object: ApiObject; readonly isOthers: boolean }
  | {
      readonly kind: "accepted";
      readonly accepted: Accepted;
      /** The object that the body was made from, at the revision that If-Match carried. */
      readonly before: ApiObject;
    };

const MAX_ATTEMPTS = 4;

/**
 * Returns the object to make the update's body from, and whether there is nothing left to do.
 *
 * @param current the object as it was read just now
 * @throws CloudInfraError `revision_conflict` with state, service and program side by side; nothing was overwritten
 */
export async function prepareWrite(
  context: Context,
  change: Change,
  current: ApiObject,
): Promise<{ before: ApiObject; isMade: boolean }> {
  if (hasKnownRevision(change, current)) return { before: current, isMade: false };
  // It may be newer than the state, or older because a list lags. A PUT would show which; anything else needs another read.
  const isAgain = judged(context, change, current, sides(context, change, current)) === "again";
  const before = isAgain ? current : await newerThan(context, change, current);
  const isMade = !hasKnownRevision(change, before) && verdict(context, change, before, {}) === "made";
  return { before, isMade };
}

/**
 * Sends the update. If-Match always carries the revision at which the body's other fields were read (§4.5), so a read that lags
 * behind can't overwrite anything. If that revision is no longer current, the provider reads and sends again, as long as nobody
 * has changed what the program manages.
 *
 * @param first the object of {@link prepareWrite}
 * @throws CloudInfraError `revision_conflict` with state, service and program side by side; nothing was overwritten. If `sent` is set, the
 * update may have been made
 */
export async function writeUpdate(context: Context, change: Change, first: ApiObject): Promise<WriteResult> {
  let before = first;
  let unsure: readonly PropertySides[] | undefined;
  let refusal: CloudInfraError | undefined;
  try {
    for (let tries = 1; ; tries++) {
      const revision = revisionOf(context, before, refusal);
      const answer = await put(context, change, before, revision);
      if (!isCloudInfraError(answer)) return { kind: "accepted", accepted: answer, before };
      refusal = answer;
      if (answer.sent) unsure = sides(context, change, before);
      before = await newerThan(context, change, before);
      if (verdict(context, change, before, { unsure, refusal }) === "made")
        return { kind: "there", object: before, isOthers: unsure === undefined };
      if (tries === MAX_ATTEMPTS || before.revision === revision)
        throw tooManyConflicts(context, before, refusal, tries);
    }
  } catch (error) {
    throw unsure !== undefined && isCloudInfraError(error) ? withDetails(error, { sent: true }) : error;
  }
}

/** One PUT (§4.5) with a body made from the object as it was read. @returns the rejection if that revision is no longer current */
async function put(
  context: Context,
  change: Change,
  before: ApiObject,
  revision: string,
): Promise<Accepted | CloudInfraError> {
  const { id, olds, news, unsettled = {} } = change;
  const { client, finder } = context.session;
  const { fields } = context.kind;
  requireUnmanagedShown(context.kind, change, before);
  const managed = withUnsettled(fields, olds, unsettled, before.fields);
  const body = updateBody(fields, managed, news, before.fields, ignoredBy(context, change));
  try {
    return await client.instances.update(id, body, revision, context).finally(() => finder.invalidate());
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "revision_conflict") return error;
    if (!isCloudInfraError(error) || error.code !== "not_found") throw error;
    const { sent } = error;
    await requireUpdatedObject(context, change).catch((absence: unknown) => {
      throw isCloudInfraError(absence) ? withDetails(absence, { sent }) : absence;
    });
    throw error;
  }
}

/** Reads an object that must exist and that a PUT may have changed. */
export function requireUpdatedObject(context: Context, { id, olds, news }: Change): Promise<ApiObject> {
  return presentUnlessRenamed(context, id, olds, { asked: { name: news.name } });
}

/** Reads the object until it shows another revision than before, or for long enough that a list should have caught up. */
function newerThan(context: Context, change: Change, before: ApiObject): Promise<ApiObject> {
  return readUntil(
    context,
    () => requireUpdatedObject(context, change),
    ({ revision }) => revision !== before.revision,
  );
}

/** All sides, except for what the program ignores: the body has that as it stands, so it must be shown. */
function sides(context: Context, change: Change, { fields }: ApiObject): PropertySides[] {
  const ignored = ignoredBy(context, change);
  const all = sidesOf(context.kind.fields, change, fields);
  return all.filter(({ isShown, path }) => !(isShown && isIgnored(ignored, path)));
}

function ignoredBy({ session }: Context, { news, ignored }: Change): PropertyPaths {
  return ignored ?? session.tracker.ignoredBy(news.key);
}

interface WriteAttempts {
  readonly unsure?: readonly PropertySides[] | undefined;
  readonly refusal?: CloudInfraError | undefined;
}

/** What an object with these sides means for the update. */
function judged(
  context: Context,
  change: Change,
  object: ApiObject,
  all: readonly PropertySides[],
  unsure?: readonly PropertySides[],
): Verdict {
  const { olds } = change;
  const { unmanaged: seen = {} } = olds;
  const now = digestUnmanagedFields(context.kind.fields, olds, object.fields) ?? {};
  return judgeConflict(all, {
    unsure,
    countsNew: ({ name }) => now[name] !== seen[name],
    isKnown: object.revision === undefined || hasKnownRevision(change, object),
  });
}

function hasKnownRevision({ olds }: Change, { revision }: ApiObject): boolean {
  return revision !== undefined && revision === olds.revision;
}

/** @throws CloudInfraError `revision_conflict` if somebody changed what the program manages */
function verdict(
  context: Context,
  change: Change,
  object: ApiObject,
  { unsure, refusal }: WriteAttempts,
): "made" | "again" {
  const all = sides(context, change, object);
  const found = judged(context, change, object, all, unsure);
  // The value from before, which is desired again, proves nothing while an earlier update may still replace it.
  if (found === "made" && change.unsettled !== undefined) return "again";
  if (typeof found === "string") return found;
  const secrets = secretsOf(change.olds, change.news, ...context.secretSources);
  const names = namesOf(found.conflict, secrets);
  // The state may have another field's value as the revision, which lists show, too. A refresh of one instance doesn't use a list.
  const isOtherField = object.isInHeaderOnly === true && change.olds.isRevisionInHeader !== true;
  const refresh = `\`pulumi refresh${isOtherField ? " --target <urn>" : ""}\``;
  const { replaceOnChanges } = context.session.tracker.optionsOf(change.news.key);
  const isReplacement = found.conflict.some(({ field, path: [, label], now, desired }) => {
    const inputs = (value: unknown) => ({ [field.name]: label === undefined ? value : { [label]: value } });
    const [judged] = withReplaceOnChanges([field], replaceOnChanges, {
      olds: inputs(now),
      news: inputs(desired),
    });
    return judged?.change === "replace";
  });
  const [message, hint] = found.conflict.some(({ isShown }) => isShown)
    ? [
        unsure !== undefined && found.conflict.every(isToChange)
          ? `a reply to this update was lost, and ${names} of ${context.kind.name} ${change.id} changed: by it or by somebody else`
          : `somebody else changed ${names} of ${context.kind.name} ${change.id}`,
        `After ${refresh}, the next \`pulumi up\` ${isReplacement ? `replaces the ${context.kind.name}` : "sets what the program has"}. ` +
          "To keep what is there now, write it into the program first",
      ]
    : [
        `${context.kind.name} ${change.id} has changed, and the service doesn't show ${names}`,
        `Check at the service what has changed, and write into the program what must stay. After ${refresh}, the next ` +
          "`pulumi up` sets these properties as the program has them. Take those that must change out of ignoreChanges first",
      ];
  throw new CloudInfraError("revision_conflict", message, {
    ...requestOf(refusal),
    lines: conflictTable(all, found.conflict, secrets),
    hint: `nothing was overwritten. ${hint}`,
  });
}

function revisionOf({ kind }: Context, { id, revision }: ApiObject, refusal?: CloudInfraError): string {
  if (revision !== undefined) return revision;
  throw new CloudInfraError(
    "bad_reply",
    `${kind.name} ${id} carries no revision, and an update needs one (§4.5)`,
    {
      ...requestOf(refusal),
      hint: "where the service names it in a field of its own, set cloudinfra:revisionField to that field's name",
    },
  );
}

function tooManyConflicts(
  context: Context,
  { id, revision }: ApiObject,
  refusal: CloudInfraError,
  tries: number,
): CloudInfraError {
  const often = tries === 1 ? "once" : `${tries} times`;
  const again = "something else keeps changing it: run `pulumi up` again when that is over";
  const field = `it shows ${revision}: if that is not its revision, set cloudinfra:revisionField to the field that is`;
  return new CloudInfraError(
    "revision_conflict",
    `the revision of ${context.kind.name} ${id} was refused ${often}, though nobody changed what the program manages`,
    { ...requestOf(refusal), hint: `nothing was overwritten; ${tries === MAX_ATTEMPTS ? again : field}` },
  );
}

function requestOf(refusal: CloudInfraError | undefined) {
  if (refusal === undefined) return {};
  const { method, path, traceId, attempts } = refusal;
  return { method, path, traceId, attempts, cause: refusal };
}
