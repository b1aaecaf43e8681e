import type { Accepted, ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { remainingMs } from "../../operations/deadline";
import type { Call } from "../call";
import type { Properties } from "../host";
import { secretsOf } from "../inputs/secrets";
import { LAG_PAUSES_MS, present } from "../looks/present";
import { updateBody } from "../values/body";
import type { Field } from "../values/fields";
import { hiddenOf } from "../values/state";
import { unmanagedIn } from "../values/unmanaged";
import { judge, type Side, sidesOf } from "./conflict";
import { conflictTable, namesOf } from "./conflict-table";

/** An update of one object: what the state has, what the program asks for, and the fields in which they differ. */
export interface Change {
  readonly id: string;
  readonly olds: Properties;
  readonly news: Properties;
  readonly fields: readonly Field[];
}

/** How an update got through: its PUT was accepted, or there was nothing left to do. */
export type Written =
  | { readonly kind: "there"; readonly object: ApiObject }
  | {
      readonly kind: "accepted";
      readonly accepted: Accepted;
      /** The object that the body was made from, and the revision that was in force. */
      readonly before: ApiObject;
      readonly revision: string;
    };

const MOST_TRIES = 4;

/**
 * Sends the update on condition that the revision is the one in the state, or, where the state has none, the object's
 * own. Where that is not in force any more, goes again as long as nobody changed what the program manages.
 *
 * @param current a look that was made just now
 * @throws CloudInfraError `revision_conflict` with state, service and program beside each other; nothing was overwritten
 */
export async function write(call: Call, change: Change, current: ApiObject): Promise<Written> {
  let before = current;
  let revision = hiddenOf(change.olds).revision;
  if (revision === undefined) {
    if (verdict(call, change, before, {}) === "made") return { kind: "there", object: before };
    revision = revisionOf(call, before);
  }
  let unsure: readonly Side[] | undefined;
  for (let tries = 1; ; tries++) {
    const answer = await put(call, change, before, revision);
    if (!isCloudInfraError(answer)) return { kind: "accepted", accepted: answer, before, revision };
    if (answer.sent) unsure = sides(call, change, before);
    before = await lookAfterwards(call, change, revision);
    if (verdict(call, change, before, { unsure, refusal: answer }) === "made")
      return { kind: "there", object: before };
    if (tries === MOST_TRIES || before.revision === revision) throw restless(call, before, answer, tries);
    revision = revisionOf(call, before, answer);
  }
}

/** One PUT (§4.5), its body made from a look at the object. @returns the refusal where the revision is not in force */
async function put(
  call: Call,
  { id, olds, news }: Change,
  before: ApiObject,
  revision: string,
): Promise<Accepted | CloudInfraError> {
  const { client, sightings } = call.session;
  const body = updateBody(call.kind.fields, olds, news, before.fields);
  try {
    return await client.instances.update(id, body, revision, call).finally(() => sightings.forget());
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "revision_conflict") return error;
    if (isCloudInfraError(error) && error.code === "not_found") await present(call, id, olds);
    throw error;
  }
}

/** What still shows the refused revision does not show yet what it was refused for. */
async function lookAfterwards(call: Call, { id, olds }: Change, refused: string): Promise<ApiObject> {
  const { clock } = call.session;
  let look = await present(call, id, olds);
  for (const pause of LAG_PAUSES_MS) {
    if (look.revision !== refused || remainingMs(call.deadline, clock) <= pause) break;
    await clock.sleep(pause, call.signal);
    look = await present(call, id, olds);
  }
  return look;
}

function sides({ kind }: Call, { olds, news }: Change, { fields }: ApiObject): Side[] {
  return sidesOf(kind.fields, { olds, words: hiddenOf(olds).__words ?? {}, news }, fields);
}

interface Circumstances {
  readonly unsure?: readonly Side[] | undefined;
  readonly refusal?: CloudInfraError;
}

/** @throws CloudInfraError `revision_conflict` where somebody changed what the program manages */
function verdict(
  call: Call,
  change: Change,
  object: ApiObject,
  { refusal, ...circumstances }: Circumstances,
): "made" | "again" {
  const all = sides(call, change, object);
  const { __unmanaged: seen = {} } = hiddenOf(change.olds);
  const now = unmanagedIn(call.kind.fields, change.olds, object.fields) ?? {};
  const countsNew = ({ name }: Field): boolean => now[name] !== seen[name];
  const judged = judge(all, { ...circumstances, countsNew });
  if (typeof judged === "string") return judged;
  const secrets = secretsOf(change.olds, change.news);
  const names = namesOf(judged.conflict, secrets);
  throw new CloudInfraError(
    "revision_conflict",
    `somebody else changed ${names} of ${call.kind.name} ${change.id}`,
    {
      ...requestOf(refusal),
      lines: conflictTable(all, judged.conflict, secrets),
      hint:
        "nothing was overwritten. `pulumi refresh` takes over what is there now, and the next `pulumi up` puts it right; " +
        "to keep it, write it into the program first",
    },
  );
}

function revisionOf({ kind }: Call, { id, revision }: ApiObject, refusal?: CloudInfraError): string {
  if (revision !== undefined) return revision;
  throw new CloudInfraError(
    "bad_reply",
    `${kind.name} ${id} carries no revision, and an update needs one (§4.5)`,
    {
      ...requestOf(refusal),
      hint: "where the service names it in a field of its own, set cloudinfra:revisionField to that field's name",
    },
  );
}

function restless(
  call: Call,
  { id, revision }: ApiObject,
  refusal: CloudInfraError,
  tries: number,
): CloudInfraError {
  const often = tries === 1 ? "once" : `${tries} times`;
  const again = "something else keeps changing it: run `pulumi up` again when that is over";
  const field = `it shows ${revision}: if that is not its revision, set cloudinfra:revisionField to the field that is`;
  return new CloudInfraError(
    "revision_conflict",
    `the revision of ${call.kind.name} ${id} was refused ${often}, though nobody changed what the program manages`,
    { ...requestOf(refusal), hint: `nothing was overwritten; ${tries === MOST_TRIES ? again : field}` },
  );
}

function requestOf(refusal: CloudInfraError | undefined) {
  if (refusal === undefined) return {};
  const { method, path, traceId, attempts } = refusal;
  return { method, path, traceId, attempts, cause: refusal };
}
