import { notFound, type Refusal } from "./problems";
import type { EmulatorRequest } from "./request";
import type { State } from "./state";

/** Rejection of a request that the token has no permission for (§5 leaves open which permissions there are). */
export function checkAccess(state: State, request: EmulatorRequest): Refusal | undefined {
  const { readOnlyToken, hiddenProjects, forbiddenStatus } = state.behaviour;
  const { method, path, query } = request;
  const isForbidden =
    (readOnlyToken && method !== "GET") ||
    (hiddenProjects.length > 0 && projectsOf(state, request).some((project) => isHidden(state, project))) ||
    (forbiddenStatus !== 404 && query.has("project") && isHidden(state, query.get("project")));
  if (!isForbidden) return undefined;
  if (forbiddenStatus === 404) return notFound(path);
  if (forbiddenStatus === 401)
    return { status: 401, code: "unauthenticated", detail: "the token is not valid for this request" };
  return { status: 403, code: "forbidden", detail: "the token has no permission for this request" };
}

/** @param project id or name */
export function isHidden({ behaviour, projects }: State, project: unknown): boolean {
  const { hiddenProjects } = behaviour;
  if (hiddenProjects.length === 0) return false;
  const names = ["*", String(project), String(projects.byId.get(String(project))?.fields.name)];
  return names.some((name) => hiddenProjects.includes(name));
}

/** The project that a request is about, by id or name; none for a list. */
function projectsOf({ instances, operations }: State, { method, path, body }: EmulatorRequest): unknown[] {
  const [, , collection, id] = path.split("/");
  if (id === undefined)
    return method === "POST" ? [memberOf(body, collection === "projects" ? "name" : "project")] : [];
  if (collection === "projects") return [id];
  if (collection === "instances") return [instances.byId.get(id)?.fields.project];
  const target = operations.byId.get(id)?.target;
  return [target?.project, ...(target?.kind === "project" ? [target.name] : [])];
}

function memberOf(body: string, name: string): unknown {
  try {
    return Object(JSON.parse(body))[name];
  } catch {
    // The endpoint rejects a body that isn't JSON.
    return undefined;
  }
}
