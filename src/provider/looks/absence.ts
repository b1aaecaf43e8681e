import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import type { Call } from "../call";
import { projectKind } from "../kind";
import type { Look, Sought } from "./sightings";

/**
 * Reads an object, and believes in its absence only after two independent checks while its project is visible: an outage, another
 * account's token or a token with fewer permissions is never taken for a deletion.
 *
 * @param first the first check
 * @returns `undefined` if the object no longer exists
 * @throws CloudInfraError what the checks failed with; `forbidden` if the project is not visible
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

/**
 * Requires the object's project to be visible, because the service may hide what a token may not see. If there is no parent, or it is
 * not known, at least one other project must be visible.
 */
async function requireAccountOf(call: Call, sought: Sought): Promise<void> {
  const { sightings, client, memory } = call.session;
  const lists = { kind: projectKind, project: undefined };
  const project = sought.kind === projectKind ? undefined : sought.project;
  if (project !== undefined && (await sightings.all(lists, "recent", call)).has(project)) return;
  const projects = await sightings.all(lists, "fresh", call);
  if (projects.has(project ?? sought.id)) return;
  if (project === undefined && projects.size > 0) return;
  if (project !== undefined) {
    if (memory.isGone({ endpoint: client.endpoint, kind: "project", id: project })) return;
    const parent = { kind: projectKind, id: project, project: undefined };
    if ("found" in (await sightings.second(parent, { missing: "sweep" }, call))) return;
  }
  const parent = project === undefined ? "any project" : `its project ${project}`;
  throw new CloudInfraError(
    "forbidden",
    `the service shows neither ${sought.kind.name} ${sought.id} nor ${parent}, which does not prove that it was deleted: ` +
      "this token may belong to another account, or may not see it",
    {
      hint:
        `Nothing was changed. Check the token and cloudinfra:endpoint (${client.endpoint}). ` +
        "If the objects no longer exist, remove each of them from the state with `pulumi state delete <urn>`",
    },
  );
}
