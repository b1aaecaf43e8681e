import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { projectKind } from "../model/kinds";
import { remainingMs } from "../polling/clock";
import { confirmLookup, findOrConfirmAbsence } from "./absence";
import type { Context } from "./context";
import type { LookupResult, ObjectRef } from "./lookup/lookup-result";

const PAUSES_MS = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 14_000];

/**
 * Waits up to 30 s for a new object to appear in the list, because a list may lag behind writes.
 *
 * @returns `undefined` if the object doesn't appear in time
 * @throws CloudInfraError `timeout` if the call's deadline comes first, which proves nothing
 */
export function waitUntilListed(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const what = `waiting for the ${ref.kind.name} to appear`;
  return context.progress.during(what, () => listUntilFound(context, ref));
}

/**
 * Reads the object of a finished creation, and waits up to 30 s for it to appear. Returns `undefined` only if {@link findCreatedOrAbsent}
 * confirms that the object doesn't exist.
 */
export async function findCreated(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  const result = await context.session.finder.find(ref, context);
  if ("found" in result) return result.found;
  return (await waitUntilListed(context, ref)) ?? findCreatedOrAbsent(context, ref, result);
}

/**
 * Confirms an absence as {@link findOrConfirmAbsence} does. For a project, two checks are enough: the service reports its creation to this
 * token, so the token belongs to the same account.
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
 * Reads the object that a failed operation names, if the creation has left one. Retries for a few seconds, because reads may lag behind.
 *
 * @returns `undefined` if the object doesn't appear in time, which proves nothing
 */
export function findNamedByOperation(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  return readUntil(
    context,
    async () => {
      // The service reports the operation to this token, so the token belongs to the same account.
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
    // A list may omit values or format them differently.
    if ("found" in result) return finder.completeListItem(result.found, ref, context);
  }
  return undefined;
}

function notSeenYet({ kind, id }: ObjectRef): CloudInfraError {
  const message = `the service reports that it created ${kind.name} ${id}, but did not show it before the deadline`;
  return new CloudInfraError("timeout", message, { resultId: id });
}

/** The first pauses between reads, in milliseconds, because a list may lag behind writes. */
const LAG_PAUSES_MS = [500, 1_000, 2_000];
const MAX_PAUSE_MS = 15_000;
/** How long a list may take to catch up, in milliseconds. */
const CATCHING_UP_MS = 30_000;
/** Reserved before the deadline for the last read and the work after it, in milliseconds. */
const LAST_READ_MS = 1_000;

/** How long a read is repeated: `lag` for a few seconds, `catching up` for 30 s, `deadline` until the call's deadline. */
export type Patience = "lag" | "catching up" | "deadline";

/**
 * Repeats a read until its result is as expected, because a list may lag behind writes.
 *
 * @returns the last result, even if it isn't as expected
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
