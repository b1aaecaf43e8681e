import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import { asSeen, isSuccess, type Operation } from "../../operations/operation";
import { operationFailed } from "../../operations/wait";
import { type Call, requireSameProvider, waitForEnd } from "../call";
import type { Properties } from "../host";
import { identityOf } from "../identity";
import { askedFor } from "../inputs/secrets";
import { projectKind } from "../kind";
import type { Sought } from "../looks/look";
import { findMade, findNamed, seeAgain } from "../looks/see-again";
import { hiddenOf } from "../values/state";
import { note } from "./note";
import { unfinished } from "./partial";
import { asOperation, isKeyKept, type Pending, type Sent, sentFields } from "./pending";
import { creationOf, post } from "./post";
import { warnOfSameNamed } from "./same-named";
import { outcomeLost } from "./unclear";

/** How a creation ended, for certain. `isEcho`: the object is as the reply to the request shows it, which may only repeat the request. */
export type End =
  | { readonly kind: "made"; readonly object: ApiObject; readonly isEcho?: boolean }
  /** Nothing was made; or, where there is an object, one that failed. */
  | { readonly kind: "failed"; readonly error: CloudInfraError; readonly object?: ApiObject }
  /** The key brings back a failure of the service for ever (§4.7): only another key can change it. */
  | { readonly kind: "key spent"; readonly error: CloudInfraError };

/**
 * Runs or resumes a creation: sends or resends the request, waits for the operation, and reads the result.
 *
 * @param again whether an earlier process may have sent the request
 * @throws PartialState if the outcome is unknown: the state then holds what any machine needs to resume
 * @throws CloudInfraError `provider_changed` if the creation began through another provider
 */
export async function carryOut(call: Call, inputs: Properties, begun: Pending, again: boolean): Promise<End> {
  if (again) requireSameProvider(call, begun);
  let pending = begun;
  call.known.push(askedFor(begun, hiddenOf(inputs).__secrets));
  try {
    if (pending.operation !== undefined) {
      const known = asOperation(pending.operation);
      try {
        return await endOf(call, known, sentFields(pending), again);
      } catch (error) {
        if (!isCloudInfraError(error) || error.code !== "operation_unknown") throw error;
      }
      // The service may have purged the operation after its end: the key still leads to what came of it (E2).
    }
    const sent = await send(call, inputs, pending, again);
    if ("kind" in sent) return sent;
    const { id, url } = sent.operation;
    if (id === pending.operation?.id) throw await outcomeLost(call, inputs, pending);
    pending = { ...pending, operation: { id, url } };
    await note(call, pending, { operation: { id, url } });
    return await endOf(call, sent.operation, sentFields(pending), again);
  } catch (error) {
    if (!isCloudInfraError(error) || error.code === "key_expired") throw error;
    if (error.resultId !== undefined) await note(call, pending, { id: error.resultId });
    throw unfinished(call, error, inputs, pending);
  }
}

async function send(
  call: Call,
  inputs: Properties,
  pending: Pending,
  again: boolean,
): Promise<End | { operation: Operation }> {
  const creation = creationOf(pending);
  if (creation === undefined || (again && !isKeyKept(pending)))
    throw await outcomeLost(call, inputs, pending);
  const posted = await post(call, creation, again);
  if (posted.kind === "unsure") throw posted.error;
  if (posted.kind === "refused") return { kind: "failed", error: posted.error };
  if (posted.kind === "stored failure") {
    await warnOfSameNamed(call, inputs, pending);
    return { kind: "key spent", error: posted.error };
  }
  const { accepted } = posted;
  if (accepted.kind === "operation") return { operation: accepted.operation };
  if (accepted.kind === "object") {
    const { object } = accepted;
    return again ? stillThere(call, object, sentFields(pending)) : { kind: "made", object, isEcho: true };
  }
  throw new CloudInfraError(
    "bad_reply",
    "the service accepted the request, but named neither an operation nor an object",
  );
}

/** The service replays its first reply to a key even if the object has been deleted since (§4.7). */
async function stillThere(call: Call, object: ApiObject, sent: Sent): Promise<End> {
  const sought = soughtFor(call, object.id, sent);
  if (!call.session.memory.isGone(identityOf(call, object.id))) {
    const seen = await findMade(call, sought);
    if (seen !== undefined)
      return { kind: "made", object: { ...object, ...seen, fields: { ...object.fields, ...seen.fields } } };
  }
  const message = `${call.kind.name} ${object.id}, which an interrupted creation had created, no longer exists`;
  return { kind: "failed", error: new CloudInfraError("no_result", message, { resultId: object.id }) };
}

/** Waits for the operation and reads its result; one that ended in any status but `done` failed. */
async function endOf(call: Call, begun: Operation, sent: Sent, again: boolean): Promise<End> {
  let operation: Operation;
  try {
    operation = await waitForEnd(call, begun);
  } finally {
    call.session.sightings.forget();
  }
  if (!isSuccess(operation)) return failed(call, operation, sent);
  try {
    return { kind: "made", object: await readBack(call, operation, sent, again) };
  } catch (error) {
    const isGone = isCloudInfraError(error) && error.code === "no_result" && error.resultId !== undefined;
    if (again && isGone) return { kind: "failed", error };
    throw error;
  }
}

async function failed(call: Call, operation: Operation, sent: Sent): Promise<End> {
  const error = operationFailed(operation);
  const id = call.session.client.resultId(operation);
  if (id === undefined) return { kind: "failed", error };
  const named = { kind: "failed", error: withDetails(error, { resultId: id }) } as const;
  const object = await findNamed(call, soughtFor(call, id, sent));
  if (object !== undefined) return { ...named, object };
  // The operation names it, so one that isn't shown may only not be shown yet: the deletion of an instance finds out.
  return call.kind === projectKind ? { kind: "failed", error } : { ...named, object: { id, fields: {} } };
}

/** What the result's link may answer where the object can still be seen in the list. */
const elsewhere: ReadonlySet<string> = new Set(["not_found", "unsupported", "no_result"]);

/** Reads the result of a finished operation: by its link, or, where that is not offered (§4.8), from the list. */
async function readBack(call: Call, operation: Operation, sent: Sent, again: boolean): Promise<ApiObject> {
  const { client } = call.session;
  const { name } = call.kind;
  const id = client.resultId(operation);
  if (id === undefined) {
    const message = `operation ${operation.id} is done, but names no ${name} as its result`;
    throw new CloudInfraError("no_result", message, { operation: asSeen(operation) });
  }
  const missing = `operation ${operation.id} is done, but its result, ${name} ${id}, is not there`;
  const gone = new CloudInfraError("no_result", missing, { operation: asSeen(operation), resultId: id });
  if (again && call.session.memory.isGone(identityOf(call, id))) throw gone;
  try {
    // That a link answers says nothing of the address that objects have by themselves.
    return await client.readResult(operation, call);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (!elsewhere.has(error.code)) throw withDetails(error, { resultId: id, operation: asSeen(operation) });
  }
  const sought = soughtFor(call, id, sent);
  const seen = again ? findMade(call, sought) : seeAgain(call, sought);
  const object = await seen.catch((error: unknown) => {
    throw isCloudInfraError(error)
      ? withDetails(error, { resultId: id, operation: asSeen(operation) })
      : error;
  });
  if (object !== undefined) return object;
  throw gone;
}

function soughtFor({ kind }: Call, id: string, { project }: Sent): Sought {
  return { kind, id, project };
}
