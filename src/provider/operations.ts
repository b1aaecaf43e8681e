import { isCloudInfraError } from "../diagnostics/error";
import { type Pending, toOperation } from "../model/pending";
import type { Recorded } from "../model/state";
import { isTerminal, type Operation } from "../polling/operation";
import { type Context, objectRefOf, waitForOperationEnd } from "./context";

type KnownOperation = NonNullable<Pending["operation"]>;

/**
 * Fetches an operation of an earlier run.
 *
 * @returns `undefined` if the service no longer reports the operation, which proves nothing about its result
 */
export async function fetchOperation(
  context: Context,
  operation: KnownOperation,
): Promise<Operation | undefined> {
  try {
    return await context.session.client.operations.poll(toOperation(operation), context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "not_found") return undefined;
    throw error;
  }
}

/**
 * Returns the id of the object of an unfinished creation. A running operation may name another object than it does at its end. If the service
 * doesn't show the object yet, waits for the end of the creation, because the object can't be deleted before.
 */
export async function createdObjectId(context: Context, id: string, state: Recorded): Promise<string> {
  const { key, operation, failed } = state.pending ?? {};
  if (key === undefined || operation === undefined || failed) return id;
  const seen = await fetchOperation(context, operation);
  if (seen === undefined) return id;
  const { client, finder } = context.session;
  if (isTerminal(seen)) return client.resultId(seen) ?? id;
  if ("found" in (await finder.find(objectRefOf(context.kind, id, state), context))) return id;
  const end = await context.progress.during("waiting for the creation to finish", () =>
    waitForOperationEnd(context, seen),
  );
  return client.resultId(end) ?? id;
}
