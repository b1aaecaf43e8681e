import { parseBody, projectBody } from "./body";
import { dateInList, plainDate } from "./dates";
import { acceptedReply, begin } from "./operations";
import { page, parsePage } from "./pages";
import { methodNotAllowed, notFound } from "./problems";
import { json, noContent } from "./reply";
import type { Handler, State, StoredProject } from "./state";

/** POST /v1/projects (§4.2) */
export const createProject: Handler = (state, request) => {
  const parsed = parseBody(request, projectBody, state.behaviour.revisionField);
  if (!("fields" in parsed)) return parsed;
  const { name } = parsed.fields;
  const refused = state.rules.checkValues(parsed.fields);
  if (refused) return refused;
  if (
    state.behaviour.uniqueNames &&
    [...state.projects.byId.values()].some(({ fields }) => fields.name === name)
  ) {
    return { status: 409, code: "name_taken", detail: `there is a project named '${name}' already` };
  }
  const fields = { ...parsed.fields, description: parsed.fields.description ?? "" };
  const project = { id: state.newId("prj"), createdAt: state.now(), fields };
  const { projectPost } = state.behaviour;
  if (projectPost === 202) {
    const add = () => state.projects.add(project);
    const failed = (_at: number, leaveObject: boolean) => (leaveObject ? add() : undefined);
    return acceptedReply(state, begin(state, "create", `/v1/projects/${project.id}`, { done: add, failed }));
  }
  state.projects.add(project);
  return json(projectPost, viewProject(project));
};

/** GET /v1/projects (§4.3) */
export const listProjects: Handler = (state, request) => {
  const query = parsePage(request.query);
  if ("code" in query) return query;
  const view = (project: StoredProject) => {
    const { id, name, region } = viewProject(project);
    return { id, name, region, created_at: dateInList(state, project.createdAt) };
  };
  return json(
    200,
    page(state.projects, query, state.behaviour.pageSize, () => true, view),
  );
};

/** GET /v1/projects/{id} (§4.8 leaves open whether there is one) */
export const getProject: Handler = (state, _request, id) => {
  if (state.behaviour.getObject === 405) return methodNotAllowed("DELETE");
  const project = state.behaviour.getObject === 404 ? undefined : state.projects.byId.get(id);
  return project === undefined ? notFound(`project '${id}'`) : json(200, viewProject(project));
};

/** DELETE /v1/projects/{id} (§4.8 leaves open whether there is one); only an empty project can go. */
export const deleteProject: Handler = (state, _request, id) => {
  const { deleteObject } = state.behaviour;
  if (deleteObject === 405) return methodNotAllowed("GET");
  if (!state.projects.byId.has(id)) return notFound(`project '${id}'`);
  if (holdsInstances(state, id)) {
    return { status: 409, code: "project_not_empty", detail: "the project still holds instances" };
  }
  const remove = () => void state.projects.remove(id);
  if (deleteObject === 202) {
    return acceptedReply(state, begin(state, "delete", undefined, { done: remove, failed: () => {} }));
  }
  remove();
  return noContent();
};

function holdsInstances(state: State, id: string): boolean {
  for (const { fields } of state.instances.byId.values()) if (fields.project === id) return true;
  return false;
}

function viewProject({ id, fields, createdAt }: StoredProject): Record<string, unknown> {
  return { id, ...fields, created_at: plainDate(createdAt) };
}
