import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { type Call, soughtOf } from "../call";
import type { Properties } from "../host";

/** A list may lag behind what was written: what it does not show yet is looked for again after each of these. */
export const LAG_PAUSES_MS: readonly number[] = [500, 1_000, 2_000];

/**
 * A look at an object that must be there: what an update does not mean to change is taken from it.
 *
 * @throws CloudInfraError `not_found` where two looks do not show it
 */
export async function present(call: Call, id: string, state: Properties): Promise<ApiObject> {
  const sought = soughtOf(call.kind, id, state);
  const look = await call.session.sightings.twice(sought, call);
  if ("found" in look) return look.found;
  throw new CloudInfraError("not_found", `${call.kind.name} ${id} is not there any more`, {
    hint: "`pulumi refresh` takes it out of the state if it is really gone; the next `pulumi up` then makes it anew",
  });
}
