import { isCloudInfraError } from "../../diagnostics/error";
import { isTerminal, type Operation } from "../../operations/operation";
import { type Call, soughtOf, waitForEnd } from "../call";
import type { Properties } from "../host";
import { asOperation, type Pending, pendingOf } from "./pending";

type Known = NonNullable<Pending["operation"]>;

/**
 * One look at an operation of an earlier run.
 *
 * @returns `undefined` where the service does not know it, which says nothing about what it made
 */
export async function lookAt(call: Call, operation: Known): Promise<Operation | undefined> {
  try {
    return await call.session.client.operations.poll(asOperation(operation), call);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "not_found") return undefined;
    throw error;
  }
}

/**
 * Returns the id of the object that an unfinished creation has made: a running operation may name another one than it does in the end. If the object isn't shown yet, waits for the end of the creation, because the object could not be deleted before.
 */
export async function idOfCreation(call: Call, id: string, state: Properties): Promise<string> {
  const { key, operation, failed } = pendingOf(state) ?? {};
  if (key === undefined || operation === undefined || failed) return id;
  const seen = await lookAt(call, operation);
  if (seen === undefined) return id;
  const { client, sightings } = call.session;
  if (isTerminal(seen)) return client.resultId(seen) ?? id;
  if ("found" in (await sightings.fresh(soughtOf(call.kind, id, state), call))) return id;
  const end = await call.progress.during("waiting until it is made", () => waitForEnd(call, seen));
  return client.resultId(end) ?? id;
}
