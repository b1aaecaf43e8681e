import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { identityKey } from "../model/identity";
import { projectKind } from "../model/kinds";
import type { Recorded } from "../model/state";
import { type Context, identityOf, objectRefOf } from "./context";
import type { LookupResult, ObjectRef } from "./lookup/lookup-result";

/**
 * Reads an object, and believes in its absence only if the service says that it was deleted, or after two independent checks while its
 * project is visible: an outage, another account's token or a token with fewer permissions is never taken for a deletion. A project is in
 * no other object, so checks that don't find it prove nothing, unless this machine has asked for its deletion.
 *
 * @param first the first check
 * @returns `undefined` if the object no longer exists
 * @throws CloudInfraError what the checks failed with; `forbidden` if the absence proves nothing
 */
export async function findOrConfirmAbsence(
  context: Context,
  ref: ObjectRef,
  first: LookupResult,
): Promise<ApiObject | undefined> {
  // Somebody may have moved it to another project.
  const result = await confirmLookup(context, ref, first, { ...ref, project: undefined });
  if ("found" in result) {
    if (ref.kind === projectKind) await forgetDeletionRequest(context, ref.id);
    return result.found;
  }
  const isSaid = result.isDeleted || result.isGone || ("missing" in first && first.isGone);
  if (!isSaid) await requireVisibleProject(context, ref);
  return undefined;
}

/**
 * Reads an object now, and believes in its absence only under the conditions of {@link findOrConfirmAbsence}.
 *
 * @returns `undefined` if the object no longer exists
 */
export async function findFresh(context: Context, ref: ObjectRef): Promise<ApiObject | undefined> {
  return findOrConfirmAbsence(context, ref, await context.session.finder.find(ref, context));
}

/** Reads an object again if the first check didn't find it, in a way that doesn't share the weakness of that check. */
export async function confirmLookup(
  context: Context,
  ref: ObjectRef,
  first: LookupResult,
  last = ref,
): Promise<LookupResult> {
  if ("found" in first || first.isDeleted) return first;
  return context.session.finder.findAgain(ref, first, context, last);
}

/**
 * Requires that an object which is not found no longer exists: the service shows its project, or the project was deleted.
 *
 * @throws CloudInfraError `forbidden` if its absence proves nothing
 */
export async function requireVisibleProject(context: Context, ref: ObjectRef): Promise<void> {
  if (!(await isProjectVisible(context, ref))) throw notVisible(context, ref);
}

async function isProjectVisible(context: Context, { kind, id, project }: ObjectRef): Promise<boolean> {
  if (kind === projectKind) return wasDeletionRequested(context, id);
  const { finder } = context.session;
  const parent = { kind: projectKind, id: project ?? "", project: undefined };
  // One that began after the checks: an earlier one says nothing about what the token may see now.
  const projects = await finder.list(parent, "fresh", context);
  if (project === undefined) return projects.size > 0;
  const isShown =
    projects.has(project) || "found" in (await finder.findAgain(parent, { missing: "sweep" }, context));
  if (isShown) await forgetDeletionRequest(context, project);
  return isShown || wasDeletionRequested(context, project);
}

/** Forgets an earlier request to delete a project that exists: it was not carried out, or was about an earlier project with this id. */
export async function forgetDeletionRequest({ session }: Context, project: string): Promise<void> {
  await session.journal.deletions.remove(identityKey(identityOf({ kind: projectKind, session }, project)));
}

async function wasDeletionRequested({ session }: Context, project: string): Promise<boolean> {
  const object = identityOf({ kind: projectKind, session }, project);
  return session.tracker.wasDeleted(object) || session.journal.deletions.has(identityKey(object));
}

function notVisible({ session: { client } }: Context, { kind, id, project }: ObjectRef): CloudInfraError {
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

/** Whether an error is that of {@link requireObject}: a mere 404 for another request proves no absence. */
export function isConfirmedAbsence({ code, status }: CloudInfraError): boolean {
  return code === "not_found" && status === undefined;
}

/**
 * Reads an object that must exist: an update takes from it what the program doesn't manage.
 *
 * @throws CloudInfraError `not_found` if the object no longer exists; `forbidden` if the token can't prove that
 */
export async function requireObject(context: Context, id: string, state: Recorded): Promise<ApiObject> {
  const found = await findFresh(context, objectRefOf(context.kind, id, state));
  if (found !== undefined) return found;
  throw noLongerExists(context, id);
}

/** Returns the error about an object that no longer exists. */
export function noLongerExists(context: Context, id: string): CloudInfraError {
  return new CloudInfraError("not_found", `${context.kind.name} ${id} no longer exists`, {
    hint: "Run `pulumi refresh` to remove it from the state. The next `pulumi up` then recreates it",
  });
}
