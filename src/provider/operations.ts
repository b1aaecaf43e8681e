import { isCloudInfraError } from "../diagnostics/error";
import { type Pending, toOperation } from "../model/pending";
import type { Recorded } from "../model/state";
import { isTerminal, type Operation } from "../polling/operation";
import { type Context, objectRefOf, waitForOperationEnd } from "./context";

type KnownOperation = NonNullable<Pending["operation"]>;

/**
 * One look at an operation of an earlier run.
 *
 * @returns `undefined` where the service does not know it, which says nothing about what it made
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
 * Returns the id of the object that an unfinished creation has made: a running operation may name another one than it does in the end. If the object isn't shown yet, waits for the end of the creation, because the object could not be deleted before.
 */
export async function createdObjectId(context: Context, id: string, state: Recorded): Promise<string> {
  const { key, operation, failed } = state.pending ?? {};
  if (key === undefined || operation === undefined || failed) return id;
  const seen = await fetchOperation(context, operation);
  if (seen === undefined) return id;
  const { client, finder } = context.session;
  if (isTerminal(seen)) return client.resultId(seen) ?? id;
  if ("found" in (await finder.find(objectRefOf(context.kind, id, state), context))) return id;
  const end = await context.progress.during("waiting until it is made", () =>
    waitForOperationEnd(context, seen),
  );
  return client.resultId(end) ?? id;
}
