import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import type { Call } from "../call";
import { projectKind } from "../kind";
import type { Look, Sought } from "./sightings";

/**
 * Looks for an object and believes in its absence only after two looks, with its project in sight or absent by the same
 * rule: an outage, another account's token or a narrowed one is never a deletion.
 *
 * @param first a look that was made already
 * @returns `undefined` where the object is gone
 * @throws CloudInfraError whatever the looks failed with; `forbidden` where the account shows nothing at all
 */
export async function findOrAbsent(call: Call, sought: Sought, first: Look): Promise<ApiObject | undefined> {
  if ("found" in first) return first.found;
  const second = await call.session.sightings.second(sought, first, call);
  if ("found" in second) return second.found;
  await requireAccountOf(call, sought);
  return undefined;
}

/**
 * Reads an object now, and believes in its absence only under the conditions of {@link findOrAbsent}.
 *
 * @returns `undefined` if the object no longer exists
 */
export async function findNow(call: Call, sought: Sought): Promise<ApiObject | undefined> {
  return findOrAbsent(call, sought, await call.session.sightings.fresh(sought, call));
}

/** The account must show the object's project, or, if that is unknown or no longer exists either, at least another one. */
async function requireAccountOf(call: Call, sought: Sought): Promise<void> {
  const { sightings, client } = call.session;
  const lists = { kind: projectKind, project: undefined };
  const project = sought.kind === projectKind ? undefined : sought.project;
  if (project !== undefined && (await sightings.all(lists, "recent", call)).has(project)) return;
  const projects = await sightings.all(lists, "fresh", call);
  if (projects.has(project ?? sought.id)) return;
  // An instance's project is gone only by two looks, too: one that this token may not see any more answers otherwise.
  if (project !== undefined) {
    const parent = { kind: projectKind, id: project, project: undefined };
    if ("found" in (await sightings.second(parent, { missing: "sweep" }, call))) return;
  }
  if (projects.size > 0) return;
  throw new CloudInfraError(
    "forbidden",
    `${sought.kind.name} ${sought.id} is not shown, but neither is any project: this token may belong to another account`,
    {
      hint:
        `nothing was changed. Check the token and cloudinfra:endpoint (${client.endpoint}); ` +
        "if the objects really are gone, take each out of the state with `pulumi state delete <urn>`",
    },
  );
}
