import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { remainingMs } from "../../operations/deadline";
import type { Call } from "../call";
import type { Sought } from "./sightings";

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

async function lookAgain(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  const { sightings, clock } = call.session;
  for (const pause of PAUSES_MS) {
    if (remainingMs(call.deadline, clock) <= pause) throw notSeenYet(sought);
    await clock.sleep(pause, call.signal);
    const look = await sightings.swept(sought, call);
    if ("found" in look) return look.found;
  }
  return undefined;
}

function notSeenYet({ kind, id }: Sought): CloudInfraError {
  const message = `the service says that ${kind.name} ${id} is made, but did not show it before the time was up`;
  return new CloudInfraError("timeout", message, { resultId: id });
}
