import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { isSuccess } from "../operations/operation";
import { operationFailed } from "../operations/wait";
import { type Call, soughtOf, valuesOf, waitForEnd } from "./call";
import type { Properties } from "./host";
import { isHeld, settle } from "./left-over";
import { outputsOfNew } from "./outputs";
import { PartialState } from "./partial";
import { asOperation, type Pending, pendingOf } from "./pending";
import { hiddenOf } from "./state";
import { update } from "./update";

/**
 * An update, after what an earlier run left unfinished: a replacement that was cut off is settled, and an operation that was
 * still at work is waited for.
 */
export async function resumeUpdate(
  call: Call,
  id: string,
  olds: Properties,
  news: Properties,
): Promise<{ outs: Properties }> {
  await settleLeftOver(call, id, olds, news);
  const pending = pendingOf(olds);
  const state = pending === undefined ? olds : await finished(call, id, olds, pending);
  return update(call, id, state, news);
}

async function settleLeftOver(call: Call, id: string, olds: Properties, news: Properties): Promise<void> {
  const { __urn: urn } = hiddenOf(news);
  const { journal } = call.session;
  const entry = urn === undefined ? undefined : await journal.read(urn);
  if (urn === undefined || entry === undefined) return;
  const isOwn = isHeld(entry, { key: hiddenOf(olds).__key, id, operation: pendingOf(olds)?.operation?.id });
  if (!isOwn) await settle(call, { ...news, project: olds.project }, entry);
  await journal.remove(urn, entry.key);
}

/** The state once the operation is over. One that failed and left no object is made anew by the next `up`. */
async function finished(call: Call, id: string, olds: Properties, pending: Pending): Promise<Properties> {
  const { sightings } = call.session;
  const sought = soughtOf(call.kind, id, olds);
  const error = await failureOf(call, id, olds, pending);
  sightings.forget();
  // An update's operation: what the state has is what was, and its revision keeps others' changes safe.
  if (pending.key === undefined) return { ...olds, __pending: undefined };
  const look = await sightings.twice(sought, call);
  if ("missing" in look) {
    const gone =
      error ??
      new CloudInfraError("not_found", `${call.kind.name} ${id}, whose creation was cut off, is not there`);
    const outs = { ...olds, __pending: { ...pending, failed: true } };
    throw new PartialState(gone, id, outs, "run `pulumi up` again: it makes another in its place");
  }
  return outputsOfNew(call, look.found, olds, valuesOf(call, olds));
}

/** @throws PartialState with the state as it was, where the operation is still not over */
async function failureOf(
  call: Call,
  id: string,
  olds: Properties,
  { operation }: Pending,
): Promise<CloudInfraError | undefined> {
  if (operation === undefined) return undefined;
  try {
    const ended = await waitForEnd(call, asOperation(operation));
    return isSuccess(ended) ? undefined : operationFailed(ended);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "operation_unknown") return error;
    throw new PartialState(error, id, olds, "run `pulumi up` again, on any machine: it goes on waiting");
  }
}
