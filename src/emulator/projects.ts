import { normalized } from "./normalization";
import type { OperationTarget, StoredOperation } from "./operation-queue";
import { acceptedReply, begin } from "./operations";
import { page, parsePage } from "./pagination";
import { conflict, methodNotAllowed, notFound, type Refusal } from "./problems";
import { bodyless, dateInList, idOnWire, jsonReply, plainDate, present, type Reply, without } from "./reply";
import { parseRequestBody, projectBody } from "./request-body";
import type { Handler, State, StoredProject } from "./state";

/** POST /v1/projects (§4.2) */
export const createProject: Handler = (state, request) => {
  const { behaviour } = state;
  const parsed = parseRequestBody(request, projectBody, behaviour);
  if (!("fields" in parsed)) return parsed;
  const { name } = parsed.fields;
  const rejection = state.rules.checkValues(parsed.fields) ?? checkName(state, name);
  if (rejection) return rejection;
  const fields = { ...parsed.fields, description: parsed.fields.description ?? "" };
  const project = { id: state.newId("project", name), createdAt: state.now(), fields };
  const { projectPost } = behaviour;
  if (projectPost === 202) {
    const done = (at: number) => state.projects.add(project, at);
    const failed = (at: number, leaveObject: boolean) => (leaveObject ? done(at) : undefined);
    return acceptedReply(state, begin(state, "create", targetOf(project), { done, failed }));
  }
  state.projects.add(project);
  const subject = { kind: "project", id: project.id } as const;
  return { ...changedReply(state, projectPost, project), subject };
};

/** GET /v1/projects (§4.3) */
export const listProjects: Handler = (state, request) => {
  const { behaviour } = state;
  const query = parsePage(request.query);
  if ("code" in query) return query;
  const view = ({ id, fields, createdAt }: StoredProject): object => {
    const { name, region } = normalized(behaviour.normalize, fields);
    const item = { id: idOnWire(behaviour, id), name, region, created_at: dateInList(behaviour, createdAt) };
    return without(behaviour.itemsWithout, item);
  };
  const entries = state.projects.after(query.after, state.moment("lists"));
  return jsonReply(
    200,
    page(entries, query, behaviour, (project) => !state.isHidden(project.id), view),
  );
};

/** Handles GET /v1/projects/{id}, which is optional in the specification (§4.8). */
export const getProject: Handler = (state, _request, id) => {
  const { getObject } = state.behaviour;
  if (getObject === 405) return methodNotAllowed("DELETE");
  const project = getObject === 404 ? undefined : state.projects.shown(id, state.moment("reads"));
  return project === undefined ? notFound(`project '${id}'`) : jsonReply(200, viewProject(state, project));
};

/** Handles DELETE /v1/projects/{id}, which is optional in the specification (§4.8). Only an empty project can be deleted. */
export const deleteProject: Handler = (state, _request, id) => {
  const { deleteObject } = state.behaviour;
  if (deleteObject === 405) return methodNotAllowed("GET");
  const project = state.projects.byId.get(id);
  if (project === undefined) return notFound(`project '${id}'`);
  const deletion = deletionOf(state, id);
  if (deletion !== undefined) return acceptedReply(state, deletion);
  if (holdsInstances(state, id)) return conflict("project_not_empty", "the project still holds instances");
  const remove = (at: number): void => {
    if (state.projects.holds(project)) state.projects.remove(id, at);
  };
  if (deleteObject === 202) {
    return acceptedReply(
      state,
      begin(state, "delete", targetOf(project), { done: remove, failed: () => {} }),
    );
  }
  remove(state.now());
  return deleteObject === 200 ? changedReply(state, 200, project) : bodyless(204);
};

/** Returns the running operation that deletes a project. */
export function deletionOf(state: State, project: string): StoredOperation | undefined {
  return state.operations
    .running()
    .find(({ kind, target }) => kind === "delete" && target.kind === "project" && target.id === project);
}

function targetOf({ id, fields }: StoredProject): OperationTarget {
  return { kind: "project", id, project: id, name: fields.name };
}

function checkName(state: State, name: string): Refusal | undefined {
  if (!state.behaviour.uniqueNames) return undefined;
  const names = [
    ...[...state.projects.byId.values()].map(({ fields }) => fields.name),
    ...state.operations.running().flatMap(({ target }) => (target.kind === "project" ? [target.name] : [])),
  ];
  return names.includes(name)
    ? conflict("name_taken", `a project named '${name}' already exists`)
    : undefined;
}

/** Reports whether a project contains instances, including instances that are being created. */
function holdsInstances(state: State, id: string): boolean {
  for (const { fields } of state.instances.byId.values()) if (fields.project === id) return true;
  return state.operations
    .running()
    .some(({ kind, target }) => kind === "create" && target.kind === "instance" && target.project === id);
}

function changedReply(state: State, status: number, project: StoredProject): Reply {
  const { behaviour } = state;
  if (behaviour.writeReply === "full") return jsonReply(status, viewProject(state, project));
  return jsonReply(status, { id: idOnWire(behaviour, project.id), status: "active" });
}

function viewProject({ behaviour }: State, { id, fields, createdAt }: StoredProject): object {
  return present(behaviour, {
    id: idOnWire(behaviour, id),
    ...normalized(behaviour.normalize, fields),
    created_at: plainDate(createdAt),
  });
}
