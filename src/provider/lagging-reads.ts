import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { projectKind } from "../model/kinds";
import { remainingMs } from "../polling/clock";
import { confirmLookup, findOrConfirmAbsence } from "./absence";
import type { Context } from "./context";
import type { LookupResult, ObjectRef } from "./lookup/lookup-result";

const PAUSES_MS = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 14_000];

/**
 * Looks for an object that must be in the list: for half a minute, because a list may lag behind what was written.
 *
 * @returns `undefined` where it did not appear in that time
 * @throws CloudInfraError `timeout` where the call's deadline comes first: that it was not seen yet says nothing
 */
export function waitUntilListed(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const what = `waiting for the ${ref.kind.name} to appear`;
  return context.progress.during(what, () => listUntilFound(context, ref));
}

/**
 * Reads the object of a creation that has ended: for half a minute, because a list may lag behind, and for good only under the rules of
 * {@link findCreatedOrAbsent}.
 */
export async function findCreated(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const result = await context.session.finder.find(ref, context);
  if ("found" in result) return result.found;
  return (await waitUntilListed(context, ref)) ?? findCreatedOrAbsent(context, ref, result);
}

/**
 * Believes in an absence only under the rules of {@link findOrConfirmAbsence}. For a project, two checks are enough: what the service tells of its
 * creation proves that the token is of the same account.
 */
export async function findCreatedOrAbsent(
  context: Context,
  ref: ObjectRef,
  first: LookupResult,
): Promise<ApiObject | undefined> {
  if (ref.kind !== projectKind) return findOrConfirmAbsence(context, ref, first);
  const result = await confirmLookup(context, ref, first);
  return "found" in result ? result.found : undefined;
}

/**
 * Looks for the object that an operation names: for a few seconds, because reads may lag behind. A failed creation need not have left any.
 *
 * @returns `undefined` if it did not appear in that time, which proves nothing
 */
export function findNamedByOperation(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  return readUntil(
    context,
    async () => {
      // What the service tells of the creation proves that the token is of the same account.
      const result = await confirmLookup(context, ref, await context.session.finder.find(ref, context));
      return "found" in result ? result.found : undefined;
    },
    (object) => object !== undefined,
  );
}

async function listUntilFound(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const { finder, clock } = context.session;
  for (const pause of PAUSES_MS) {
    if (remainingMs(context.deadline, clock) <= pause) throw notSeenYet(ref);
    await clock.sleep(pause, context.signal);
    const result = await finder.findInList(ref, context);
    // A list may omit values, or spell them in another way.
    if ("found" in result) return finder.completeListItem(result.found, ref, context);
  }
  return undefined;
}

function notSeenYet({ kind, id }: ObjectRef): CloudInfraError {
  const message = `the service says that ${kind.name} ${id} is made, but did not show it before the time was up`;
  return new CloudInfraError("timeout", message, { resultId: id });
}

/** A list may lag behind what was written, so a read is repeated after each of these pauses. */
const LAG_PAUSES_MS = [500, 1_000, 2_000];
const MAX_PAUSE_MS = 15_000;
/** How long a list that shows an older revision may take to catch up. */
const CATCHING_UP_MS = 30_000;
/** Kept free before the deadline for the last read and what follows it. */
const LAST_READ_MS = 1_000;

/** For how long a read is repeated: for a few seconds, for half a minute, or for as long as the call may take. */
export type Patience = "lag" | "catching up" | "deadline";

/**
 * Repeats a read until it shows what is expected, because a list may lag behind what was written.
 *
 * @returns the last read, even if it doesn't show that
 */
export async function readUntil<T>(
  context: Context,
  read: () => Promise<T>,
  isShown: (seen: T) => boolean,
  patienceFor: (seen: T) => Patience = () => "lag",
): Promise<T> {
  const { deadline, signal, session } = context;
  const began = session.clock.now();
  let seen = await read();
  for (let count = 0; !isShown(seen); count++) {
    const patience = patienceFor(seen);
    const wanted = LAG_PAUSES_MS[count] ?? (patience === "lag" ? 0 : 500 * 2 ** count);
    const left = remainingMs(deadline, session.clock) - Math.min(LAST_READ_MS, deadline.ms / 10);
    const limit =
      patience === "deadline" ? left : Math.min(left, began + CATCHING_UP_MS - session.clock.now());
    const pause = Math.min(wanted, MAX_PAUSE_MS, limit);
    if (pause <= 0) break;
    await session.clock.sleep(pause, signal);
    seen = await read();
  }
  return seen;
}
