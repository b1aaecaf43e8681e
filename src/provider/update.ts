import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { RELEASE_OBJECT } from "../diagnostics/hints";
import { sameValue, withIgnoredValues } from "../model/changes";
import { unlessEmpty } from "../model/outputs";
import { type Pending, toOperation } from "../model/pending";
import { isNormalizedForm, mayBeNormalizedForm } from "../model/property-comparison";
import { withRecordedKeyCase, withRemoteForm } from "../model/remote-values";
import { projectKind, type RemoteValues } from "../model/resource-fields";
import type { Desired, Recorded } from "../model/state";
import { isSuccess, isTerminal, type Operation, operationFailed } from "../polling/wait";
import { findCreated, findFresh } from "./absence";
import {
  type Context,
  hasRevisionOf,
  objectRefOf,
  requireRecordedEndpoint,
  requireSameProvider,
  waitForOperationEnd,
} from "./context";
import { outputsOfCreation } from "./create/completion";
import { finishUnfinishedCreations, possiblePurposes } from "./create/unfinished";
import { IMPORT_OBJECT, keepWaitingHint, PartialState } from "./partial-state";
import { confirmCreated, idReused, resultUnclear } from "./reused-ids";
import { applyUpdate } from "./update/apply";
import {
  errorAfterRename,
  findUnderReportedId,
  foundUnderOtherId,
  otherIdError,
  presentUnlessRenamed,
} from "./update/changed-id";
import { compareRequested } from "./update/unfinished";
import { hintForMissing } from "./warnings";

/** Updates a resource. Before that, finishes an unfinished replacement or a running operation of an earlier run. */
export async function updateResource(
  initial: Context,
  id: string,
  saved: Recorded,
  news: Desired,
): Promise<{ outs: Recorded }> {
  const olds = initial.kind === projectKind ? withRemoteForm(projectKind.fields, saved, news) : saved; // projects have no PUT
  requireRecordedEndpoint(initial, id, olds);
  const context = withRecordedKeyCase(initial, olds);
  const { urn, key } = news;
  if (urn !== undefined) await finishUnfinishedCreations(context, id, olds, possiblePurposes(urn, key));
  const pending = olds.pending;
  if (pending?.otherId !== undefined) throw otherIdError(context, id, pending.otherId, olds);
  const { state, asked, isForgotten }: Finished =
    pending === undefined ? { state: olds } : await finishPending(context, id, { olds, pending });
  const ignored = context.session.tracker.ignoredBy(key);
  const wanted = withIgnoredValues(context.kind.fields, ignored, { olds: state, news });
  if (asked === undefined) return applyUpdate(context, id, state, wanted);
  // Even if the operation has ended, the service may have set values that it doesn't return, and that the program no longer contains.
  const open = context.kind.fields.filter((field) => {
    const { name } = field;
    const isKnown = [state, wanted].some((known) => sameValue(field, known[name], asked[name] ?? undefined));
    return Object.hasOwn(asked, name) && !isKnown;
  });
  const unconfirmed = unlessEmpty(Object.fromEntries(open.map(({ name }) => [name, asked[name]])));
  return applyUpdate(context, id, state, wanted, { unconfirmed, former: asked }).catch((error: unknown) => {
    const isConflict = isCloudInfraError(error) && error.code === "revision_conflict";
    if (!isConflict || !isForgotten || error instanceof PartialState) throw error;
    // Otherwise, a refresh would keep the former revision if the service no longer has the operation.
    const outs = { ...olds, pending: { ...pending, operation: undefined } };
    throw new PartialState(error, id, outs, error.hint);
  });
}

/** The state after an operation of an earlier run. `asked` contains the values that the operation requested and may have set. */
interface Finished {
  readonly state: Recorded;
  readonly asked?: RemoteValues | undefined;
  readonly isForgotten?: boolean;
}

/**
 * Waits for the operation of an earlier run, and returns the resulting state.
 *
 * @throws PartialState if the creation failed or its object no longer exists. The state is then marked, so that the next `up` replaces the
 * resource
 */
async function finishPending(
  context: Context,
  id: string,
  { olds, pending }: { olds: Recorded; pending: Pending },
): Promise<Finished> {
  if (pending.key !== undefined) requireSameProvider(context, pending);
  const ended = await waitForPending(context, id, olds, pending);
  const { error, result = id } = ended;
  context.session.finder.invalidate();
  if (pending.key === undefined) return finishPendingUpdate(context, id, olds, pending, ended);
  if (result !== id) {
    // Only a refresh can change the id of a resource.
    const { name } = context.kind;
    const message = `the creation of ${name} ${id} resulted in ${name} ${result} instead`;
    const hint =
      "Run `pulumi refresh` to correct the id in the state, then `pulumi up`. Nothing else was created";
    throw new PartialState(new CloudInfraError("no_result", message), id, olds, hint);
  }
  const ref = objectRefOf(context.kind, id, olds);
  // A list may not contain the object immediately after the end of the operation.
  const object = await (error === undefined ? findCreated(context, ref) : findFresh(context, ref));
  const isUnclear = error?.code === "operation_unknown";
  if (object !== undefined && pending.operation !== undefined) {
    const match = await confirmCreated(context, object, pending, ended.operation, olds.key);
    if (match === "different") throw idReused(context, object);
    if (match === "unclear") {
      const unclear = resultUnclear(context, object, pending);
      throw new PartialState(unclear, id, olds, unclear.hint);
    }
  }
  if (object !== undefined && (error === undefined || isUnclear))
    return { state: outputsOfCreation(context, object, olds) };
  if (isUnclear) {
    // The object may still be created, so no second object is created.
    const hint = `${await hintForMissing(context, id, pending)}, then \`pulumi up\` to recreate it`;
    throw new PartialState(error, id, olds, hint);
  }
  const failure = error ?? new CloudInfraError("not_found", `${context.kind.name} ${id} no longer exists`);
  const outs = { ...olds, pending: { ...pending, failed: true } };
  const next = object === undefined ? "create another" : "replace the failed";
  throw new PartialState(failure, id, outs, `Run \`pulumi up\` again to ${next} ${context.kind.name}`);
}

/**
 * Adds the values that an update of unknown outcome has set to the state. A different value may be a normalized form immediately after the
 * operation, or at the revision in the update's reply. A value that appears later may come from another user.
 */
async function finishPendingUpdate(
  context: Context,
  id: string,
  olds: Recorded,
  pending: Pending,
  { error, result, wasRunning = false }: PendingEnd,
): Promise<Finished> {
  const rename = { id, state: olds, pending, reported: { id: result, isProof: true } };
  const other = await findUnderReportedId(context, rename);
  if (other !== undefined) throw foundUnderOtherId(context, other, rename);
  const object = await presentUnlessRenamed(context, id, olds, pending).catch(async (absence: unknown) => {
    throw isCloudInfraError(absence) ? await errorAfterRename(context, absence, rename) : absence;
  });
  const { asked = {} } = pending;
  // A list may be outdated, and a revision may not cover values that aren't shown.
  const isShown = context.kind.fields.every(
    ({ name, wire }) => !Object.hasOwn(asked, name) || object.fields[wire] !== undefined,
  );
  const isUnchanged = object.isFromOwnUrl === true && hasRevisionOf(object, olds) && isShown;
  if (error?.code === "operation_failed" && isUnchanged) return { state: { ...olds, pending: undefined } };
  const hasJustEnded = wasRunning && error === undefined;
  const isOwn = hasJustEnded || (pending.revision !== undefined && pending.revision === object.revision);
  const judge = isOwn ? mayBeNormalizedForm : isNormalizedForm;
  const { made } = compareRequested(context, olds, pending, object, judge);
  const isForgotten = error?.code === "operation_unknown";
  return { state: { ...olds, ...made, pending: undefined }, asked: pending.asked, isForgotten };
}

/** The result of a finished operation: an error, or the id of the object if the operation contains an id. */
interface PendingEnd {
  readonly error?: CloudInfraError;
  readonly result?: string | undefined;
  readonly operation?: Operation;
  /** Whether this process has polled the operation while it was running. */
  readonly wasRunning?: boolean;
}

/** @throws PartialState with the unchanged state if the operation doesn't end in time */
async function waitForPending(
  context: Context,
  id: string,
  olds: Recorded,
  { operation, failed, key }: Pending,
): Promise<PendingEnd> {
  if (failed) return { error: new CloudInfraError("operation_failed", "the creation failed") };
  if (operation === undefined) return {};
  const { timeouts } = context.session.tracker.withCurrentValues(olds);
  let wasRunning = false;
  try {
    const ended = await context.progress.during("waiting for the operation of an earlier run", () =>
      waitForOperationEnd(context, toOperation(operation), (seen) => {
        wasRunning ||= !isTerminal(seen);
      }),
    );
    return isSuccess(ended)
      ? { result: context.session.client.resultId(ended), operation: ended, wasRunning }
      : { error: operationFailed(ended), operation: ended };
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "operation_unknown") return { error };
    const release = key === undefined ? IMPORT_OBJECT : RELEASE_OBJECT;
    throw new PartialState(error, id, olds, keepWaitingHint(error, timeouts?.update !== undefined, release));
  }
}
