import { CloudInfraError } from "../diagnostics/error";
import { type Call, finish, requireRecordedEndpoint } from "./call";
import { changedFields } from "./diff";
import type { Field } from "./fields";
import type { Properties } from "./host";
import { present } from "./present";
import { outputsAfter, readBack } from "./update-outcome";
import { type Change, write } from "./update-write";

/**
 * Updates an instance (§4.5): a full body, on condition that the revision is still the one in the state, then a look at
 * what became of it.
 *
 * @throws CloudInfraError `revision_conflict` where somebody else changed what the program manages: nothing is overwritten
 * @throws NotApplied where the service accepted a change and did not make it
 */
export async function update(
  call: Call,
  id: string,
  olds: Properties,
  news: Properties,
): Promise<{ outs: Properties }> {
  requireRecordedEndpoint(call, id, olds);
  const change: Change = { id, olds, news, fields: changedFields(call.kind.fields, olds, news) };
  const current = await present(call, id, olds);
  if (change.fields.length === 0) {
    return { outs: outputsAfter(call, change, { object: current, unmade: [] }) };
  }
  const written = await write(call, change, current);
  if (written.kind === "accepted" && written.accepted.kind === "operation") {
    await finish(call, written.accepted.operation).finally(() => call.session.sightings.forget());
  }
  const outcome = await readBack(call, change, written);
  const outs = outputsAfter(call, change, outcome);
  if (outcome.unmade.length > 0) throw new NotApplied(outcome.unmade, outs);
  return { outs };
}

/** The service accepted a change and did not make it (what an endpoint accepts is not shown). Carries what is true now. */
export class NotApplied extends CloudInfraError {
  constructor(
    fields: readonly Field[],
    readonly outs: Properties,
  ) {
    const names = fields.map(({ name }) => name).join(", ");
    super("not_applied", `the service accepted the update, but did not change ${names}`, {
      hint:
        `if it can't be changed in place, add replaceOnChanges: [${fields.map(({ name }) => `"${name}"`).join(", ")}] ` +
        "to the resource's options, or ignoreChanges to leave it as it is",
    });
  }
}
