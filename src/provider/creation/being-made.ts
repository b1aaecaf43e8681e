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
 * The creation or update that is still at work on a state's object. What is being created need not show before it is made: what
 * is not seen yet is not gone.
 */
async function workUnderWay(call: Call, state: Properties): Promise<Operation | undefined> {
  const { operation, failed } = pendingOf(state) ?? {};
  if (operation === undefined || failed) return undefined;
  const seen = await lookAt(call, operation);
  return seen === undefined || isTerminal(seen) ? undefined : seen;
}

/** Waits until an object that is being made can be seen, or its creation is over: it could not be deleted before. */
export async function waitUntilShown(call: Call, id: string, state: Properties): Promise<void> {
  const operation = pendingOf(state)?.key === undefined ? undefined : await workUnderWay(call, state);
  if (operation === undefined) return;
  const look = await call.session.sightings.fresh(soughtOf(call.kind, id, state), call);
  if ("found" in look) return;
  await call.progress.during("waiting until it is made", () => waitForEnd(call, operation));
}
