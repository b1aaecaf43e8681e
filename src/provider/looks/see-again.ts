import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { remainingMs } from "../../operations/deadline";
import type { Call } from "../call";
import { projectKind } from "../kind";
import { findOrAbsent, secondLook } from "./absence";
import type { Look, Sought } from "./look";
import { readUntil } from "./read-until";

const PAUSES_MS = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 14_000];

/**
 * Looks for an object that must be in the list: for half a minute, because a list may lag behind what was written.
 *
 * @returns `undefined` where it did not appear in that time
 * @throws CloudInfraError `timeout` where the call's deadline comes first: that it was not seen yet says nothing
 */
export function seeAgain(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  const what = `waiting until the service shows the ${sought.kind.name}`;
  return call.progress.during(what, () => lookAgain(call, sought));
}

/**
 * Reads the object of a creation that has ended: for half a minute, because a list may lag behind, and for good only under the rules of
 * {@link findOfCreation}.
 */
export async function findMade(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  const look = await call.session.sightings.fresh(sought, call);
  if ("found" in look) return look.found;
  return (await seeAgain(call, sought)) ?? findOfCreation(call, sought, look);
}

/**
 * Believes in an absence only under the rules of {@link findOrAbsent}. For a project, two checks are enough: what the service tells of its
 * creation proves that the token is of the same account.
 */
export async function findOfCreation(
  call: Call,
  sought: Sought,
  first: Look,
): Promise<ApiObject | undefined> {
  if (sought.kind !== projectKind) return findOrAbsent(call, sought, first);
  const look = await secondLook(call, sought, first);
  return "found" in look ? look.found : undefined;
}

/**
 * Looks for the object that an operation names: for a few seconds, because reads may lag behind. A failed creation need not have left any.
 *
 * @returns `undefined` if it did not appear in that time, which proves nothing
 */
export function findNamed(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  return readUntil(
    call,
    async () => {
      // What the service tells of the creation proves that the token is of the same account.
      const look = await secondLook(call, sought, await call.session.sightings.fresh(sought, call));
      return "found" in look ? look.found : undefined;
    },
    (object) => object !== undefined,
  );
}

async function lookAgain(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  const { sightings, clock } = call.session;
  for (const pause of PAUSES_MS) {
    if (remainingMs(call.deadline, clock) <= pause) throw notSeenYet(sought);
    await clock.sleep(pause, call.signal);
    const look = await sightings.swept(sought, call);
    // A list may omit values, or spell them in another way.
    if ("found" in look) return sightings.completed(look.found, sought, call);
  }
  return undefined;
}

function notSeenYet({ kind, id }: Sought): CloudInfraError {
  const message = `the service says that ${kind.name} ${id} is made, but did not show it before the time was up`;
  return new CloudInfraError("timeout", message, { resultId: id });
}
