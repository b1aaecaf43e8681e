import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { longerTimeoutHint } from "../../diagnostics/hints";
import {
  changedFields,
  isIgnored,
  labelsOf,
  mentionsProperty,
  type PropertyPaths,
  sameValue,
} from "../../model/changes";
import { isSameName } from "../../model/names";
import { removedAdditionalProperties } from "../../model/outputs";
import { operationRecord, type Pending } from "../../model/pending";
import type { Field, Json } from "../../model/resource-fields";
import { secretsOf } from "../../model/secrets";
import { type Desired, hiddenInputsOf, type Recorded } from "../../model/state";
import { formatDuration } from "../../polling/clock";
import type { Operation } from "../../polling/wait";
import { isConfirmedAbsence, requireObject } from "../absence";
import { type Context, waitForOperationSuccess } from "../context";
import { firstFix, IMPORT_OBJECT, keepWaitingHint, PartialState } from "../partial-state";
import { requireSameObject } from "../reused-ids";
import {
  errorAfterRename,
  findUnderReportedId,
  foundUnderOtherId,
  mayBeRenamed,
  type ReportedId,
} from "./changed-id";
import {
  isPending,
  outputsAfterUpdate,
  ownReply,
  type PossibleReason,
  possibleReasonFor,
  type UpdateOutcome,
  waitUntilApplied,
} from "./outcome";
import { type Change, requestedChanges } from "./unfinished";
import { prepareWrite, requireUpdatedObject, type WriteResult, writeUpdate } from "./write";

/**
 * Updates an object (§4.5). Reads the object, sends a complete body with If-Match, and checks the result.
 *
 * @param earlier the values that an earlier update of unknown outcome requested. If some of them are `unconfirmed`, the update is sent even
 * if nothing has changed
 * @param ignored the paths that the update must not change. @default the option `ignoreChanges`, which doesn't apply to creations
 * @throws CloudInfraError `revision_conflict` if another user changed a managed property. In that case, nothing is overwritten
 * @throws NotApplied if the service accepted a change but didn't apply it
 */
export async function applyUpdate(
  context: Context,
  id: string,
  state: Recorded,
  news: Desired,
  earlier: Pick<Change, "unconfirmed" | "former"> = {},
  ignored: PropertyPaths = context.session.tracker.ignoredBy(news.key),
): Promise<{ outs: Recorded }> {
  const olds = withoutReleased(context, state, news, ignored);
  const { unconfirmed = {} } = earlier;
  const changed = changedFields(context.kind.fields, olds, news);
  // An earlier update may have set an unconfirmed field, or may still set it.
  const isOpen = ({ name }: Field): boolean =>
    Object.hasOwn(unconfirmed, name) && !mentionsProperty(ignored, name);
  const fields = context.kind.fields.filter((field) => changed.includes(field) || isOpen(field));
  const asked: Change = { id, olds, news, fields, ignored, ...earlier };
  const isOthers = earlier.former === undefined;
  // An earlier update of a killed process may have renamed the object, and thereby changed its id.
  const rename = renameOf(asked);
  const pending = { ...rename.pending, isUnsure: true };
  const current = await requireObject(context, id, olds).catch(async (error: unknown) => {
    throw isCloudInfraError(error) ? await errorAfterRename(context, error, { ...rename, pending }) : error;
  });
  requireSameObject(context, current, olds);
  if (asked.fields.length === 0 && asked.unconfirmed === undefined) {
    return { outs: outputsAfterUpdate(context, asked, { object: current, unapplied: [], isOthers }) };
  }
  const { before, isMade } = await prepareWrite(context, asked, current);
  const change: Change = { ...asked, before };
  const sent: WriteResult = isMade
    ? { kind: "already applied", object: before, isOthers }
    : await writeOrKeep(context, change, before);
  const { written, reported } = await finishOrKeep(context, change, sent);
  const outcome = await readBackOrKeep(context, change, written, reported);
  if (outcome.age === "outdated") throw notShownYet(context, change, outcome.own?.revision);
  if (sent.kind === "accepted") await warnOfRemovedProperties(context, sent.before, outcome.object);
  const outs = outputsAfterUpdate(context, change, outcome);
  const { unapplied } = outcome;
  if (unapplied.length === 0) return { outs };
  const left = { ...outs, pending: pendingUpdate({ ...change, fields: unapplied }) };
  if (isPending(written)) throw notYetApplied(context, change, unapplied, left);
  throw new NotApplied(id, unapplied, left, possibleReasonFor(change, outcome));
}

/**
 * Returns the state without the values that the program no longer manages but must not remove from the object. An empty list of SSH keys is
 * such a value, because other users may have added keys. If the program no longer sets any labels, the labels in `ignoreChanges` are also
 * such values.
 */
function withoutReleased(
  { kind }: Context,
  state: Recorded,
  news: Desired,
  ignored: PropertyPaths,
): Recorded {
  const dropped = kind.fields.filter(({ name }) => news[name] === undefined && state[name] !== undefined);
  const kept = dropped.flatMap((field): [string, Json][] => {
    const { name, type } = field;
    if (type === "keys") return sameValue(field, state[name], []) ? [[name, undefined]] : [];
    if (type !== "labels" || !mentionsProperty(ignored, name)) return [];
    const own = Object.entries(labelsOf(state[name])).filter(([key]) => !isIgnored(ignored, [name, key]));
    return [[name, Object.fromEntries(own)]];
  });
  return { ...state, ...Object.fromEntries(kept) };
}

/** Prints a warning if a property that isn't in the body of an update is missing after the update. */
async function warnOfRemovedProperties(context: Context, before: ApiObject, now: ApiObject): Promise<void> {
  const names = removedAdditionalProperties(context, before, now).join(", ");
  if (names === "") return;
  await context.session.warn(
    `cloudinfra: ${context.kind.name} ${now.id} had ${names} before an update, but not after the update. ` +
      "If the value is still needed, set it again in the service. The provider can't send it in updates.",
  );
}

/** Returns the error for a change that the service accepted with 202 but hasn't applied yet. The next update checks the change. */
function notYetApplied(
  { deadline }: Context,
  { id, news }: Change,
  fields: readonly Field[],
  outs: Recorded,
): PartialState {
  const names = fields.map(({ name }) => name).join(", ");
  const message = `the service accepted the update, but did not change ${names} within ${formatDuration(deadline.ms)}`;
  const hint =
    "Run `pulumi up` again: the service may still apply the change. " +
    longerTimeoutHint(news.timeouts?.update !== undefined);
  return new PartialState(new CloudInfraError("timeout", message), id, outs, hint);
}

/** Returns the error for an object with a revision from before the update. An outdated object proves nothing, so it isn't saved. */
function notShownYet({ kind }: Context, change: Change, revision: string | undefined): PartialState {
  const message = `the service accepted the update, but still returns an older revision of ${kind.name} ${change.id}`;
  const hint = "Run `pulumi up` again on any machine to check the result of the update";
  return partialUpdate(change, new CloudInfraError("timeout", message), hint, { revision });
}

/** Sends the update, and records it if its outcome is unknown. Otherwise, an `up` with a reverted program would detect no change. */
async function writeOrKeep(context: Context, change: Change, before: ApiObject): Promise<WriteResult> {
  try {
    return await writeUpdate(context, change, before);
  } catch (error) {
    if (!isCloudInfraError(error) || !error.sent) throw error;
    if (isConfirmedAbsence(error)) throw await errorAfterRename(context, error, renameOf(change));
    const hint =
      error.hint ??
      `${firstFix(error, context.session.settings.provider)}The service may have applied the update. Run \`pulumi up\` again, on any machine, ` +
        "to check its result";
    throw partialUpdate(change, error, hint, { isUnsure: true });
  }
}

/**
 * Waits for the operation of the update, if there is one. If it doesn't end in time, the state records it, and the next `up` waits for it.
 * If the operation isn't found, it may still be running, and only the object reveals its result.
 *
 * @returns the result of the update, and the id in the reply or the operation. A reply without the new name may contain a different object
 */
async function finishOrKeep(
  context: Context,
  change: Change,
  written: WriteResult,
): Promise<{ written: WriteResult; reported?: ReportedId }> {
  if (written.kind !== "accepted" || written.accepted.kind === "none") return { written };
  const { news } = change;
  if (written.accepted.kind === "object") {
    const { id, fields } = written.accepted.object;
    return { written, reported: { id, isProof: isSameName(fields.name, news.name) } };
  }
  const { operation } = written.accepted;
  try {
    const ended = await waitForOperationSuccess(context, operation);
    return { written, reported: { id: context.session.client.resultId(ended), isProof: true } };
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "operation_unknown")
      return { written: { ...written, accepted: { kind: "none", deferred: true } } };
    if (error.code === "operation_failed") throw await operationFailure(context, change, error, operation);
    const waiting = keepWaitingHint(error, news.timeouts?.update !== undefined, IMPORT_OBJECT);
    const hint = `Operation ${operation.id} is still in progress. ${waiting}`;
    throw partialUpdate(change, error, hint, { operation: operationRecord(operation) });
  } finally {
    context.session.finder.invalidate();
  }
}

/**
 * Returns the error for a failed operation. The operation may have changed some properties, so the next run compares the requested values
 * with the object. An earlier attempt with a lost reply may have renamed the object.
 */
async function operationFailure(
  context: Context,
  change: Change,
  failure: CloudInfraError,
  operation: Operation,
): Promise<CloudInfraError> {
  if (mayBeRenamed(change.olds, pendingUpdate(change))) {
    const seen = await requireUpdatedObject(context, change).catch((error: unknown) => error);
    if (isCloudInfraError(seen) && isConfirmedAbsence(seen))
      return errorAfterRename(context, seen, renameOf(change));
  }
  return partialUpdate(change, failure, failure.hint, {
    operation: operationRecord(operation),
  });
}

/**
 * Waits for the result of the update. If the wait fails, the state records the accepted update. Otherwise, the next `up` would report the
 * update as a change by another user.
 */
async function readBackOrKeep(
  context: Context,
  change: Change,
  written: WriteResult,
  reported: ReportedId | undefined,
): Promise<UpdateOutcome> {
  const rename = renameOf(change, reported);
  let other: string | undefined;
  try {
    other = await findUnderReportedId(context, rename);
    if (other === undefined) return await waitUntilApplied(context, change, written);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (isConfirmedAbsence(error)) throw await errorAfterRename(context, error, rename);
    const hint =
      "The service has accepted the update. Run `pulumi up` again, on any machine, to check its result";
    throw partialUpdate(change, error, hint, { revision: ownReply(change, written)?.revision });
  }
  throw foundUnderOtherId(context, other, rename);
}

function renameOf(change: Change, reported?: ReportedId) {
  const state = { ...change.olds, ...hiddenInputsOf(change.news) };
  return { id: change.id, state, pending: pendingUpdate(change), reported };
}

/** Returns the error with the state after an update of unknown outcome that the service may have accepted. */
function partialUpdate(
  change: Change,
  error: CloudInfraError,
  hint: string | undefined,
  more: Pick<Pending, "operation" | "isUnsure" | "revision"> = {},
): PartialState {
  const pending: Pending = { ...more, ...pendingUpdate(change) };
  const outs = { ...change.olds, ...hiddenInputsOf(change.news), pending };
  return new PartialState(error, change.id, outs, hint);
}

function pendingUpdate(change: Change): Pick<Pending, "asked" | "secrets"> {
  return { asked: requestedChanges(change), secrets: [...secretsOf(change.olds, change.news).names] };
}

/** The error for a change that the service accepted but didn't apply, with the resulting state. */
export class NotApplied extends CloudInfraError {
  constructor(
    readonly id: string,
    readonly fields: readonly Field[],
    readonly outs: Recorded,
    reason: PossibleReason,
  ) {
    const names = fields.map(({ name }) => name).join(", ");
    const listed = fields.map(({ name }) => `"${name}"`).join(", ");
    const options =
      `add the resource option \`replaceOnChanges: [${listed}]\`, ` +
      "or `ignoreChanges` to keep the current value";
    const place = fields.some(({ addressFields }) => addressFields !== undefined)
      ? ". If the instance has the address, set cloudinfra:ipAddressField to the field that contains it"
      : "";
    const hints = {
      address:
        'Check in the service whether the instance uses the mode: the service may return the address instead. If so, add `ignoreChanges: ["publicIp"]`',
      normalized: `Run \`pulumi up\` again: the service may have normalized the desired value. If the update fails again, ${options}`,
      former: `Check in the service whether the object has the value, possibly in a normalized form. If it does, add \`ignoreChanges: [${listed}]\`. If it doesn't, ${options}`,
      none: `Run \`pulumi up\` again: the service may have applied the change in the meantime. If the update fails again, ${options}${place}`,
    } as const;
    const message = `the service accepted the update, but did not change ${names}`;
    super("not_applied", message, { hint: hints[reason] });
  }
}
