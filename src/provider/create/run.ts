import type { Accepted, ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../../diagnostics/error";
import { isKeyKept, isValidKey } from "../../model/idempotency-key";
import { operationRecord, type Pending, parseSentBody, sentFields, toOperation } from "../../model/pending";
import { projectKind } from "../../model/resource-fields";
import { requestedArguments } from "../../model/secrets";
import type { Desired } from "../../model/state";
import { isSuccess, type Operation, operationFailed, summarizeOperation } from "../../polling/wait";
import { findCreated, findNamedByOperation, waitUntilListed } from "../absence";
import {
  addSecretSource,
  type Context,
  identityOf,
  requireSameProvider,
  waitForOperationEnd,
} from "../context";
import { isDeleted, isDenied, withOmittedFields } from "../lookup/object-getter";
import { partialCreation } from "../partial-state";
import {
  compareCreated,
  confirmCreated,
  confirmCreatedOrThrow,
  idReused,
  requireNewObject,
} from "../reused-ids";
import { outcomeUnknown, warnOfSameNamed } from "../warnings";

/** The known result of a creation. `isEcho` means that only the reply to the request contained the object, perhaps without changes. */
export type CreationEnd =
  | { readonly kind: "created"; readonly object: ApiObject; readonly isEcho?: boolean }
  | {
      readonly kind: "failed";
      readonly error: CloudInfraError;
      readonly object?: ApiObject;
      readonly operation?: Pending["operation"];
    }
  /** The service replays a stored failure for this key (§4.7), so the next attempt requires a different key. */
  | { readonly kind: "key spent"; readonly error: CloudInfraError };

/** A creation that may have been interrupted. Its id is known if an earlier run has recorded the object. */
export type Begun = Pending & { readonly id?: string | undefined };

/**
 * Runs or resumes a creation: sends or resends the request, waits for the operation, and reads the result.
 *
 * @param isResumed whether an earlier process may have sent the request
 * @throws PartialState if the outcome is unknown. The state then contains everything that another machine needs to resume the creation
 * @throws CloudInfraError `provider_changed` if another provider started the creation
 */
export async function runCreation(
  context: Context,
  inputs: Desired,
  begun: Begun,
  isResumed: boolean,
): Promise<CreationEnd> {
  if (isResumed) requireSameProvider(context, begun);
  context.session.journal.held.add(begun.key);
  let pending = begun;
  addSecretSource(context, requestedArguments(begun, inputs.secrets));
  try {
    if (pending.operation !== undefined) {
      const known = toOperation(pending.operation);
      try {
        return await waitForCreation(context, inputs, pending, known, isResumed);
      } catch (error) {
        if (!isCloudInfraError(error) || error.code !== "operation_unknown") throw error;
      }
      // The service may have purged the finished operation. A request with the same key still returns the result (E2).
    }
    const sent = await sendRequest(context, inputs, pending, isResumed);
    if ("kind" in sent) return sent;
    // The reply to a key never changes (§4.7), so a different operation means that the service doesn't know the key.
    if (pending.operation !== undefined)
      return await findRecordedObject(context, inputs, pending, sent.operation.id !== pending.operation.id);
    const operation = operationRecord(sent.operation);
    pending = { ...pending, operation };
    await context.session.journal.extend(pending.key, { operation });
    return await waitForCreation(context, inputs, pending, sent.operation, isResumed && "resent");
  } catch (error) {
    if (!isCloudInfraError(error) || (isResumed && error.code === "key_expired")) throw error;
    if (error.resultId !== undefined)
      await context.session.journal.extend(pending.key, { id: error.resultId });
    throw partialCreation(context, error, inputs, pending, { isResumed });
  }
}

async function sendRequest(
  context: Context,
  inputs: Desired,
  pending: Begun,
  isResumed: boolean,
): Promise<CreationEnd | { operation: Operation }> {
  const { key, body } = pending;
  // The record may be incomplete or invalid.
  const isKnown = isValidKey(key) && body !== undefined && parseSentBody(body);
  // Until a request may have been sent, an expired key can't create a second object.
  const isKeyExpired = (isRetry: boolean): boolean => (isResumed || isRetry) && !isKeyKept(pending);
  if (!isKnown || pending.at === undefined || isKeyExpired(false))
    return findRecordedObject(context, inputs, pending);
  const { client, finder } = context.session;
  let accepted: Exclude<Accepted, { kind: "none" }>;
  try {
    accepted = await context.kind.requests(client).create(body, key, { ...context, isKeyExpired });
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "key_expired")
      throw await outcomeUnknown(context, inputs, pending, { wasSent: error.sent });
    // If an earlier process may have sent the request, no failure proves that nothing was created.
    if (!isCloudInfraError(error) || isResumed || (error.sent && !error.replayed)) throw error;
    return { kind: error.replayed ? "key spent" : "failed", error };
  } finally {
    finder.invalidate();
  }
  if (accepted.kind === "operation") return { operation: accepted.operation };
  const { object } = accepted;
  if (isResumed) return confirmReplayedObject(context, inputs, pending, object);
  requireNewObject(context, object, pending, inputs.key);
  return { kind: "created", object, isEcho: true };
}

/**
 * Finds the object of a creation whose operation and idempotency key can't be used. A missing object proves nothing, so the outcome is
 * unknown (`key_expired`).
 */
async function findRecordedObject(
  context: Context,
  inputs: Desired,
  pending: Begun,
  wasSent = false,
): Promise<CreationEnd> {
  const { id } = pending;
  if (id !== undefined && !context.session.tracker.wasDeleted(identityOf(context, id))) {
    const object = await findLeft(context, id, pending);
    if (object !== undefined && compareCreated(object, pending, undefined, inputs.key) === "same")
      return { kind: "created", object };
  }
  throw await outcomeUnknown(context, inputs, pending, { wasSent });
}

/** Confirms that the object still exists, because the service replays its first reply to a key even if the object was deleted (§4.7). */
async function confirmReplayedObject(
  context: Context,
  { key }: Desired,
  pending: Pending,
  object: ApiObject,
): Promise<CreationEnd> {
  const ref = { kind: context.kind, id: object.id, project: sentFields(pending).project };
  if (!context.session.tracker.wasDeleted(identityOf(context, object.id))) {
    const seen = await findCreated(context, ref);
    const match = seen && (await confirmCreatedOrThrow(context, seen, pending, object, key));
    if (seen !== undefined && match === "same")
      return { kind: "created", object: withOmittedFields(object, seen) };
  }
  const message = `${context.kind.name} ${object.id} was created by an interrupted run, but no longer exists`;
  return { kind: "failed", error: new CloudInfraError("no_result", message, { resultId: object.id }) };
}

/** Waits for the operation, and reads its result. Any final status other than `done` is a failure. */
async function waitForCreation(
  context: Context,
  inputs: Desired,
  pending: Pending,
  begun: Operation,
  isResumed: boolean | "resent",
): Promise<CreationEnd> {
  const { finder } = context.session;
  const operation = await waitForOperationEnd(context, begun).finally(() => finder.invalidate());
  // An operation that the service has just returned for the key belongs to the creation, even if it started much later.
  const isReturned = isResumed !== true;
  if (!isSuccess(operation)) return failedCreation(context, inputs, pending, operation, isReturned);
  const confirm = isReturned ? confirmCreated : confirmCreatedOrThrow;
  try {
    const object = await readCreatedObject(context, pending, operation, isResumed !== false);
    if (isReturned) requireNewObject(context, object, pending, inputs.key);
    const match = isResumed ? await confirm(context, object, pending, operation, inputs.key) : "same";
    if (match === "different") return { kind: "failed", error: idReused(context, object) };
    return { kind: "created", object };
  } catch (error) {
    const isGone = isCloudInfraError(error) && error.code === "no_result" && error.resultId !== undefined;
    if (isResumed && isGone) return { kind: "failed", error };
    throw error;
  }
}

async function failedCreation(
  context: Context,
  inputs: Desired,
  pending: Pending,
  operation: Operation,
  isReturned: boolean,
): Promise<CreationEnd> {
  const error = operationFailed(operation);
  const confirm = isReturned ? confirmCreated : confirmCreatedOrThrow;
  const id = context.session.client.resultId(operation);
  if (id === undefined) {
    await warnOfSameNamed(context, inputs, pending);
    return { kind: "failed", error };
  }
  const named = withDetails(error, { resultId: id });
  try {
    // An instance may be missing only because reads lag, so its deletion checks again.
    const missing = context.kind === projectKind ? undefined : { id, fields: {} };
    const object = (await findLeft(context, id, pending)) ?? missing;
    const match = object && (await confirm(context, object, pending, operation, inputs.key));
    if (object === undefined || match === "different") return { kind: "failed", error };
    return { kind: "failed", error: named, object, operation: operationRecord(operation) };
  } catch (denial) {
    // The service may not support GET, and lists may lag. The reason of the failure is more useful, but the object may exist. Without the
    // object, the operation of an earlier run doesn't prove that the id still belongs to the creation.
    if (!isReturned || !isCloudInfraError(denial) || !isDenied(denial)) throw denial;
    return {
      kind: "failed",
      error: named,
      object: { id, fields: {} },
      operation: operationRecord(operation),
    };
  }
}

/** Returns the object with this id that a creation has left, if the service returns it. */
export function findLeft(context: Context, id: string, pending: Pending) {
  return findNamedByOperation(context, { kind: context.kind, id, project: sentFields(pending).project });
}

/** The error codes of the result link after which the list may still contain the object. */
const MISSING_AT_LINK: ReadonlySet<string> = new Set(["not_found", "unsupported", "no_result"]);

/** Reads the result of a finished operation from its link, or from the list if there is no usable link (§4.8). */
async function readCreatedObject(
  context: Context,
  pending: Pending,
  operation: Operation,
  isResumed: boolean,
): Promise<ApiObject> {
  const { client } = context.session;
  const { name } = context.kind;
  const id = client.resultId(operation);
  if (id === undefined) {
    const message = `operation ${operation.id} is done, but its reply doesn't contain the id of the new ${name}`;
    throw new CloudInfraError("no_result", message, { operation: summarizeOperation(operation) });
  }
  const details = { resultId: id, operation: summarizeOperation(operation) };
  const missing = `operation ${operation.id} is done, but its result, ${name} ${id}, doesn't exist`;
  const gone = new CloudInfraError("no_result", missing, details);
  if (isResumed && context.session.tracker.wasDeleted(identityOf(context, id))) throw gone;
  let denial: CloudInfraError | undefined;
  try {
    // A valid result link doesn't prove that the service supports GET for single objects.
    const object = await client.readResult(operation, context);
    if (!isResumed || !isDeleted(object)) return object;
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (isDenied(error)) denial = withDetails(error, details);
    else if (!MISSING_AT_LINK.has(error.code)) throw withDetails(error, details);
  }
  const ref = { kind: context.kind, id, project: sentFields(pending).project };
  const seen = isResumed && denial === undefined ? findCreated(context, ref) : waitUntilListed(context, ref);
  const object = await seen.catch((error: unknown) => {
    throw isCloudInfraError(error) ? withDetails(error, details) : error;
  });
  if (object !== undefined) return object;
  // A missing permission proves nothing about the object.
  throw denial ?? gone;
}
