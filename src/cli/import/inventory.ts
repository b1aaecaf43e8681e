import type { ApiObject } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { referencedId } from "../../model/equality";
import { isUrnOf, projectKind } from "../../model/kinds";
import { type Context, listingContext, otherRecordedEndpoint } from "../../provider/context";
import { isDeleted } from "../../provider/lookup/lookup-result";
import type { Session } from "../../provider/session";
import type { Deployment } from "../stack-export";
import type { Omission } from "./program";

/**
 * Lists a project and its instances.
 *
 * @throws CloudInfraError `not_found` if the account has no such project
 */
export async function listProject(
  session: Session,
  id: string,
): Promise<{ project: ApiObject; instances: readonly ApiObject[] }> {
  const context = listingContext(projectKind, session);
  const projects = await session.client.projects.list(context);
  const project = projects.find((one) => one.id === id);
  if (project === undefined) {
    throw new CloudInfraError("not_found", `the service returned no project ${id}`, {
      hint:
        projects.length === 0
          ? "Check the endpoint and the token. The service returned no projects at all."
          : `Give one of these ids with --project: ${projects.map((one) => one.id).join(", ")}.`,
    });
  }
  const instances = await session.client.instances.list({ project: id }, context);
  return { project, instances: instances.filter((instance) => mayBeIn(id, instance)) };
}

/** Reports whether an instance may be in a project. The service may return the project without its id, or not at all (§4.4). */
function mayBeIn(id: string, { fields }: ApiObject): boolean {
  const project = referencedId(fields.project);
  const isId = typeof project === "number" || (typeof project === "string" && project !== "");
  // The service may return a path such as `projects/prj-1`. An id may contain "/", too.
  return !isId || `/${project}`.endsWith(`/${id}`);
}

/**
 * Selects the objects that can be imported, and completes them. Omits deleted objects and those that the stack manages.
 *
 * @param project drops the objects of other projects, which only their own replies may show
 */
export async function selectImportable(
  context: Context,
  items: readonly ApiObject[],
  stack: Pick<Deployment, "resources">,
  project?: string,
): Promise<{ objects: ApiObject[]; omitted: Omission[] }> {
  const selected: ApiObject[] = [];
  const omitted: Omission[] = [];
  for (const item of items) {
    const reason = isDeleted(item)
      ? `it was deleted: its status is ${item.fields.status}`
      : isManaged(context, item.id, stack)
        ? "the stack already manages it"
        : undefined;
    if (reason === undefined) selected.push(item);
    else omitted.push({ kind: context.kind.name, id: item.id, reason });
  }
  const objects: ApiObject[] = [];
  for (let at = 0; at < selected.length; at += CONCURRENT_GETS) {
    const some = selected.slice(at, at + CONCURRENT_GETS);
    objects.push(...(await Promise.all(some.map((item) => complete(context, item)))));
  }
  return { objects: objects.filter((one) => project === undefined || mayBeIn(project, one)), omitted };
}

/** A `get` doesn't manage an object. The same id at another endpoint is another object. */
function isManaged(context: Context, id: string, { resources }: Pick<Deployment, "resources">): boolean {
  return resources.some(
    (one) =>
      one.id === id &&
      !one.external &&
      isUrnOf(context.kind, one.urn) &&
      otherRecordedEndpoint(context, { endpoint: one.endpoint }) === undefined,
  );
}

/** Small, because the first replies show whether the service offers GET at all. */
const CONCURRENT_GETS = 16;

/**
 * Reads an object from its list item. A list can omit properties (§4.4) or normalize them differently from the GET that a refresh uses. If
 * the token isn't allowed to read single objects, the list item is used as it is.
 */
async function complete(context: Context, item: ApiObject): Promise<ApiObject> {
  const { kind, session } = context;
  try {
    return await session.finder.completeListItem(item, { kind, id: item.id, project: undefined }, context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "forbidden") return item;
    throw error;
  }
}
