import type { ApiObject } from "../../api/client";
import { formatDuration } from "../../diagnostics/durations";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { longerTimeoutHint } from "../../diagnostics/hints";
import { changedFields, mentionsProperty } from "../../model/changes";
import { sameValue } from "../../model/equality";
import type { Field, RemoteValues } from "../../model/fields";
import { isSameName } from "../../model/names";
import type { Pending } from "../../model/pending";
import { secretsOf } from "../../model/secrets";
import { type Desired, hiddenInputsOf, type Recorded } from "../../model/state";
import type { Operation } from "../../polling/operation";
import { isConfirmedAbsence, requireObject } from "../absence";
import { type Context, requireRecordedEndpoint, waitForOperationSuccess } from "../context";
import { firstFix, PartialState } from "../partial-state";
import {
  isPending,
  outputsAfterUpdate,
  ownReply,
  type PossibleReason,
  possibleReasonFor,
  type UpdateOutcome,
  waitUntilApplied,
} from "./outcome";
import {
  errorAfterRename,
  findUnderReportedId,
  foundUnderOtherId,
  mayBeRenamed,
  type ReportedId,
} from "./renamed";
import { requestedChanges } from "./requested";
import { type Change, prepareWrite, requireUpdatedObject, type WriteResult, writeUpdate } from "./write";

/**
 * Updates an instance (§4.5): a full body, on condition that the revision is still the one in the state, then a look at
 * what became of it.
 *
 * @param earlier what an earlier update of unknown outcome asked for. If the service may still set what is `unsettled`, it is sent back even if
 * nothing has changed
 * @throws CloudInfraError `revision_conflict` where somebody else changed what the program manages: nothing is overwritten
 * @throws NotApplied where the service accepted a change and did not make it
 */
export async function applyUpdate(
  context: Context,
  id: string,
  state: Recorded,
  news: Desired,
  earlier: Pick<Change, "unsettled" | "former" | "ignored"> = {},
): Promise<{ outs: Recorded }> {
  requireRecordedEndpoint(context, id, state);
  const olds = withoutReleased(context, state, news);
  const fields = fieldsToSet(context, olds, news, earlier.unsettled);
  const asked: Change = { id, olds, news, fields, ...earlier };
  const isOthers = earlier.former === undefined;
  const current = await requireObject(context, id, olds);
  if (asked.fields.length === 0 && asked.unsettled === undefined) {
    return { outs: outputsAfterUpdate(context, asked, { object: current, unapplied: [], isOthers }) };
  }
  const { before, isMade } = await prepareWrite(context, asked, current);
  const change: Change = { ...asked, before };
  const written: WriteResult = isMade
    ? { kind: "there", object: before, isOthers }
    : await writeOrKeep(context, change, before);
  const isOperation = written.kind === "accepted" && written.accepted.kind === "operation";
  const ended = isOperation ? await finishOrKeep(context, change, written.accepted.operation) : undefined;
  const outcome = await readBackOrKeep(context, change, written, ended);
  if (outcome.isOutdated) throw notShownYet(context, change, outcome.own?.revision);
  const outs = outputsAfterUpdate(context, change, outcome);
  if (outcome.unapplied.length === 0) return { outs };
  throw isPending(written)
    ? notYetApplied(context, change, outcome.unapplied, outs)
    : new NotApplied(
        outcome.unapplied,
        { ...outs, pending: pendingUpdate({ ...change, fields: outcome.unapplied }) },
        possibleReasonFor(change, outcome),
      );
}

/** The state without an empty list of SSH keys that the program no longer gives: the keys that others have added since may stay. */
function withoutReleased({ kind }: Context, state: Recorded, news: Desired): Recorded {
  const released = kind.fields.filter(
    (field) =>
      field.type === "keys" && news[field.name] === undefined && sameValue(field, state[field.name], []),
  );
  return { ...state, ...Object.fromEntries(released.map(({ name }) => [name, undefined])) };
}

/** The fields that differ from the state, and those that an earlier update may still set or may have set: their remote values may be new. */
function fieldsToSet(
  { kind, session }: Context,
  olds: Recorded,
  news: Desired,
  unsettled: RemoteValues = {},
): Field[] {
  const changed = changedFields(kind.fields, olds, news);
  const ignored = session.tracker.ignoredBy(news.key);
  const isOpen = ({ name }: Field): boolean =>
    Object.hasOwn(unsettled, name) && !mentionsProperty(ignored, name);
  return kind.fields.filter((field) => changed.includes(field) || isOpen(field));
}

/** After a 202, the service may still apply the change: the next update finds it there, or sends it again. */
function notYetApplied(
  { deadline }: Context,
  change: Change,
  fields: readonly Field[],
  outs: Recorded,
): PartialState {
  const names = fields.map(({ name }) => name).join(", ");
  const message = `the service accepted the update, but did not change ${names} within ${formatDuration(deadline.ms)}`;
  const hint =
    "Run `pulumi up` again: the service may still apply the change. " +
    longerTimeoutHint(change.news.timeouts?.update !== undefined);
  const state = { ...outs, pending: pendingUpdate({ ...change, fields }) };
  return new PartialState(new CloudInfraError("timeout", message), change.id, state, hint);
}

/** What is older than the update says nothing about it, and isn't saved. */
function notShownYet({ kind }: Context, change: Change, revision: string | undefined): PartialState {
  const message = `the service accepted the update, but still shows an older revision of ${kind.name} ${change.id}`;
  const hint = "Run `pulumi up` again, on any machine: it checks what has become of the update";
  return partialUpdate(change, new CloudInfraError("timeout", message), hint, { revision });
}

/** Without a record of an update that may have been made, an `up` whose program was reverted would find nothing to do. */
async function writeOrKeep(context: Context, change: Change, before: ApiObject): Promise<WriteResult> {
  try {
    return await writeUpdate(context, change, before);
  } catch (error) {
    if (!isCloudInfraError(error) || !error.sent) throw error;
    if (isConfirmedAbsence(error)) throw await objectMissing(context, change, error);
    const hint =
      error.hint ??
      `${firstFix(error, context.session.settings.provider)}The service may have made the update: run \`pulumi up\` again, on any machine, ` +
        "to see what has become of it";
    throw partialUpdate(change, error, hint, { isUnsure: true });
  }
}

/** Waits for the update's operation; where its end is not known, the state keeps it and the next `up` goes on waiting. */
async function finishOrKeep(context: Context, change: Change, operation: Operation): Promise<Operation> {
  try {
    return await waitForOperationSuccess(context, operation);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "operation_failed") throw await operationFailure(context, change, error);
    const hint = `operation ${operation.id} goes on at the service: run \`pulumi up\` again, on any machine; it goes on waiting`;
    throw partialUpdate(change, error, hint, { operation: { id: operation.id, url: operation.url } });
  } finally {
    context.session.finder.invalidate();
  }
}

/** Returns the error about a failed operation. An earlier attempt, whose reply was lost, may have renamed the object nevertheless. */
async function operationFailure(
  context: Context,
  change: Change,
  failure: CloudInfraError,
): Promise<CloudInfraError> {
  if (!mayBeRenamed(change.olds, pendingUpdate(change))) return failure;
  const seen = await requireUpdatedObject(context, change).catch((error: unknown) => error);
  return isCloudInfraError(seen) && isConfirmedAbsence(seen) ? objectMissing(context, change, seen) : failure;
}

/** Without the record that the service has accepted the update, the next `up` would take it for somebody else's change. */
async function readBackOrKeep(
  context: Context,
  change: Change,
  written: WriteResult,
  ended: Operation | undefined,
): Promise<UpdateOutcome> {
  const told = reportedIdOf(context, change, written, ended);
  const rename = renameOf(change, told);
  let other: string | undefined;
  try {
    other = await findUnderReportedId(context, rename);
    if (other === undefined) return await waitUntilApplied(context, change, written);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (isConfirmedAbsence(error)) throw await objectMissing(context, change, error, told);
    const hint =
      "The service has accepted the update: run `pulumi up` again, on any machine, to see what has become of it";
    throw partialUpdate(change, error, hint, { revision: ownReply(change, written)?.revision });
  }
  throw foundUnderOtherId(context, other, rename);
}

/** Returns the id that an update's reply or operation names. Without the new name, a reply may show something else. */
function reportedIdOf(
  { session }: Context,
  { news }: Change,
  written: WriteResult,
  ended?: Operation,
): ReportedId | undefined {
  if (ended !== undefined) return { id: session.client.resultId(ended), isProof: true };
  if (written.kind !== "accepted" || written.accepted.kind !== "object") return undefined;
  const { id, fields } = written.accepted.object;
  return { id, isProof: isSameName(fields.name, news.name) };
}

/** Returns the error about an object that isn't found after the update. */
function objectMissing(
  context: Context,
  change: Change,
  error: CloudInfraError,
  told?: ReportedId,
): Promise<CloudInfraError> {
  return errorAfterRename(context, error, renameOf(change, told));
}

function renameOf(change: Change, told?: ReportedId) {
  const state = { ...change.olds, ...hiddenInputsOf(change.news) };
  return { id: change.id, state, pending: pendingUpdate(change), told };
}

/** The state after an update that the service has accepted or may have accepted, and of which nobody has seen the result. */
function partialUpdate(
  change: Change,
  error: CloudInfraError,
  hint: string,
  more: Pick<Pending, "operation" | "isUnsure" | "revision"> = {},
): PartialState {
  const pending: Pending = { ...more, ...pendingUpdate(change) };
  const outs = { ...change.olds, ...hiddenInputsOf(change.news), pending };
  return new PartialState(error, change.id, outs, hint);
}

function pendingUpdate(change: Change): Pick<Pending, "asked" | "secrets"> {
  return { asked: requestedChanges(change), secrets: [...secretsOf(change.olds, change.news).names] };
}

/** The service accepted a change and did not make it (what an endpoint accepts is not shown). Carries what is true now. */
export class NotApplied extends CloudInfraError {
  constructor(
    readonly fields: readonly Field[],
    readonly outs: Recorded,
    doubt: PossibleReason | undefined,
  ) {
    const names = fields.map(({ name }) => name).join(", ");
    const options =
      `add replaceOnChanges: [${fields.map(({ name }) => `"${name}"`).join(", ")}] to the resource's options, ` +
      "or ignoreChanges to leave it as it is";
    const isAddress = fields.some(({ addressFields }) => addressFields !== undefined);
    const place =
      ". If the instance has the address, set cloudinfra:ipAddressField to the field that shows it";
    const hints = {
      address:
        'The service may show the address in place of the mode: look there which one it has. If it has the mode, add `ignoreChanges: ["publicIp"]`',
      word: `Run \`pulumi up\` again: the service may show the desired value in its own way. If the update fails again, ${options}`,
      former: `The service may have had the value before, and show it in its own way: look there first. If it doesn't have it, ${options}`,
      none: `if it can't be changed in place, ${options}${isAddress ? place : ""}`,
    } as const;
    super("not_applied", `the service accepted the update, but did not change ${names}`, {
      hint: hints[doubt ?? "none"],
    });
  }
}
