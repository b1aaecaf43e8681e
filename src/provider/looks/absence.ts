import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import type { Call } from "../call";
import { identityOf, textOf } from "../identity";
import { projectKind } from "../kind";
import type { Look, Sought } from "./look";

/**
 * Reads an object, and believes in its absence only if the service says that it was deleted, or after two independent checks while its
 * project is visible: an outage, another account's token or a token with fewer permissions is never taken for a deletion. A project is in
 * no other object, so checks that don't find it prove nothing, unless this machine has asked for its deletion.
 *
 * @param first the first check
 * @returns `undefined` if the object no longer exists
 * @throws CloudInfraError what the checks failed with; `forbidden` if the absence proves nothing
 */
export async function findOrAbsent(call: Call, sought: Sought, first: Look): Promise<ApiObject | undefined> {
  // Somebody may have moved it to another project.
  const look = await secondLook(call, sought, first, { ...sought, project: undefined });
  if ("found" in look) {
    if (sought.kind === projectKind) await stillExists(call, sought.id);
    return look.found;
  }
  const isSaid = look.isDeleted || look.isGone || ("missing" in first && first.isGone);
  if (!isSaid) await requireEvidence(call, sought);
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

/** Reads an object again if the first check didn't find it, in a way that doesn't share the weakness of that check. */
export async function secondLook(call: Call, sought: Sought, first: Look, last = sought): Promise<Look> {
  if ("found" in first || first.isDeleted) return first;
  return call.session.sightings.second(sought, first, call, last);
}

/**
 * Requires that an object which is not found no longer exists: the service shows its project, or the project was deleted.
 *
 * @throws CloudInfraError `forbidden` if its absence proves nothing
 */
export async function requireEvidence(call: Call, sought: Sought): Promise<void> {
  if (!(await isEvident(call, sought))) throw notVisible(call, sought);
}

async function isEvident(call: Call, { kind, id, project }: Sought): Promise<boolean> {
  if (kind === projectKind) return wasDeleted(call, id);
  const { sightings } = call.session;
  const parent = { kind: projectKind, id: project ?? "", project: undefined };
  // One that began after the checks: an earlier one says nothing about what the token may see now.
  const projects = await sightings.all(parent, "fresh", call);
  if (project === undefined) return projects.size > 0;
  const isShown =
    projects.has(project) || "found" in (await sightings.second(parent, { missing: "sweep" }, call));
  if (isShown) await stillExists(call, project);
  return isShown || wasDeleted(call, project);
}

/** Forgets an earlier request to delete a project that exists: it was not carried out, or was about an earlier project with this id. */
export async function stillExists({ session }: Call, project: string): Promise<void> {
  await session.journal.deletions.remove(textOf(identityOf({ kind: projectKind, session }, project)));
}

async function wasDeleted({ session }: Call, project: string): Promise<boolean> {
  const object = identityOf({ kind: projectKind, session }, project);
  return session.memory.isGone(object) || session.journal.deletions.has(textOf(object));
}

function notVisible({ session: { client } }: Call, { kind, id, project }: Sought): CloudInfraError {
  const name = `${kind.name} ${id}`;
  const what =
    kind === projectKind
      ? `does not show ${name}`
      : `shows neither ${name} nor ${project === undefined ? "any project" : `its project ${project}`}`;
  return new CloudInfraError(
    "forbidden",
    `the service ${what}, which does not prove that it was deleted: this token may belong to another account, or may not see it`,
    {
      hint:
        `Nothing was changed. Check the token and cloudinfra:endpoint (${client.endpoint}). ` +
        "If the objects no longer exist, remove each of them from the state with `pulumi state delete <urn>`",
    },
  );
}
