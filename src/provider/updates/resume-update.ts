import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { isSuccess } from "../../operations/operation";
import { operationFailed } from "../../operations/wait";
import { type Call, requireRecordedEndpoint, soughtOf, valuesOf, waitForEnd } from "../call";
import { settleLeftOver } from "../creation/left-over";
import { PartialState } from "../creation/partial";
import { asOperation, type Pending, pendingOf } from "../creation/pending";
import type { Properties } from "../host";
import { present } from "../looks/present";
import { update } from "../update";
import { outputsOfNew } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { wordsAfter } from "../values/words";
import { isOwnWork, isThere, sidesOf } from "./conflict";

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
  requireRecordedEndpoint(call, id, olds);
  await settleLeftOver(call, id, olds, hiddenOf(news).__urn);
  const pending = pendingOf(olds);
  const state = pending === undefined ? olds : await finished(call, id, { olds, news, pending });
  return update(call, id, state, news);
}

/** The state once the operation is over. One that failed and left no object is made anew by the next `up`. */
async function finished(
  call: Call,
  id: string,
  { olds, news, pending }: { olds: Properties; news: Properties; pending: Pending },
): Promise<Properties> {
  const { sightings } = call.session;
  const sought = soughtOf(call.kind, id, olds);
  const error = await failureOf(call, id, olds, pending);
  sightings.forget();
  if (pending.key === undefined)
    return { ...olds, ...(await updated(call, id, olds, pending)), __pending: undefined };
  const look = await sightings.twice(sought, call);
  if ("missing" in look) {
    requireSameProfile(call, id, olds, news);
    const gone =
      error ??
      new CloudInfraError("not_found", `${call.kind.name} ${id}, whose creation was cut off, is not there`);
    const outs = { ...olds, __pending: { ...pending, failed: true } };
    throw new PartialState(gone, id, outs, "run `pulumi up` again: it makes another in its place");
  }
  return outputsOfNew(call, look.found, olds, valuesOf(call, olds));
}

/** What another account does not show may be there all the same. */
function requireSameProfile({ kind }: Call, id: string, olds: Properties, news: Properties): void {
  if (hiddenOf(olds).profile === hiddenOf(news).profile) return;
  throw new CloudInfraError("not_found", `${kind.name} ${id}, whose creation was cut off, is not shown`, {
    hint: "nothing was changed: give it back the profile with which it was made, and change that once `pulumi up` has succeeded",
  });
}

/**
 * What an update's operation has made of the object, as far as it can be seen. The revision stays the one from before: it keeps
 * others' changes safe.
 */
async function updated(
  call: Call,
  id: string,
  olds: Properties,
  { asked = {} }: Pending,
): Promise<Properties> {
  const { fields: now } = await present(call, id, olds);
  const news = {
    ...olds,
    ...Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, value ?? undefined])),
  };
  const changed = call.kind.fields.filter(({ name }) => Object.hasOwn(asked, name));
  const { __words: words = {} } = hiddenOf(olds);
  const sides = sidesOf(changed, { olds, words, news }, now);
  const isOwn = isOwnWork([], sides);
  const made = changed.filter(
    (field) => isOwn || sides.every((side) => side.field !== field || isThere(side)),
  );
  const names = made.map(({ name }) => name);
  const kept = Object.entries(words).filter(([name]) => !names.includes(name));
  return {
    ...Object.fromEntries(names.map((name) => [name, news[name]])),
    __words: { ...Object.fromEntries(kept), ...wordsAfter(made, news, now) },
  };
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
    const ended = await call.progress.during("waiting for what an earlier run began", () =>
      waitForEnd(call, asOperation(operation)),
    );
    return isSuccess(ended) ? undefined : operationFailed(ended);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (error.code === "operation_unknown") return error;
    throw new PartialState(error, id, olds, "run `pulumi up` again, on any machine: it goes on waiting");
  }
}
