import { isIPv4 } from "node:net";
import type { Behaviour } from "./behaviour";
import { normalized } from "./normalization";
import type { OperationTarget, StoredOperation } from "./operation-queue";
import { acceptedReply, begin } from "./operations";
import { page, parsePage } from "./pagination";
import { badParameter, conflict, invalid, methodNotAllowed, notFound, type Refusal } from "./problems";
import { deletionOf } from "./projects";
import { bodyless, dateInList, idOnWire, jsonReply, plainDate, present, type Reply, without } from "./reply";
import { instanceBody, parseRequestBody } from "./request-body";
import { checkIfMatch, revisionFields, revisionHeaders } from "./revisions";
import type { Handler, State, StoredInstance } from "./state";

/** POST /v1/instances (§4.1) */
export const createInstance: Handler = (state, request) => {
  const parsed = parseRequestBody(request, instanceBody, state.behaviour);
  if (!("fields" in parsed)) return parsed;
  const { fields } = parsed;
  const rejection = state.rules.checkValues(fields) ?? checkPlace(state, fields.project, fields.name);
  if (rejection) return rejection;
  const { postIgnores } = state.behaviour;
  const accepted = Object.fromEntries(Object.entries(fields).filter(([name]) => !postIgnores.includes(name)));
  const instance = newInstance(state, { ssh_keys: [], labels: {}, ...accepted });
  const visible = state.behaviour.instanceVisible === "at-once";
  if (visible) state.instances.add(instance);
  const end = (status: string, at: number) => {
    instance.status = status;
    assignAddress(state, instance);
    state.changed(instance, at);
    if (!visible) state.instances.add(instance, at);
  };
  const operation = begin(state, "create", targetOf(instance), {
    done: (at) => end(state.behaviour.statusAfterCreate, at),
    failed: (at, leaveObject) => {
      if (leaveObject) end("error", at);
      else if (state.instances.holds(instance)) state.instances.remove(instance.id, at);
    },
  });
  return acceptedReply(state, operation);
};

/** GET /v1/instances (§4.4) */
export const listInstances: Handler = (state, request) => {
  const { behaviour } = state;
  const query = parsePage(request.query);
  if ("code" in query) return query;
  if (behaviour.instanceLimit === "refused" && Number(request.query.get("limit")) > 100) {
    const detail = "limit must not be greater than 100";
    return { ...invalid([{ parameter: "limit", detail }]), code: "invalid_limit" };
  }
  const filters = parseFilters(state, request.query);
  if ("code" in filters) return filters;
  const matches = (instance: StoredInstance) =>
    filters.tests.every((test) => test(instance)) && !state.isHidden(instance.fields.project);
  const view = (instance: StoredInstance) => instanceInList(state, instance);
  const entries = state.instances.after(query.after, state.moment("lists"));
  return jsonReply(200, page(entries, query, behaviour, matches, view));
};

/** Handles GET /v1/instances/{id}, which is optional in the specification (§4.8). */
export const getInstance: Handler = (state, _request, id) => {
  const { getObject } = state.behaviour;
  if (getObject === 405) return methodNotAllowed("PUT, DELETE");
  const instance = getObject === 404 ? undefined : state.instances.shown(id, state.moment("reads"));
  return instance === undefined ? notFound(`instance '${id}'`) : instanceReply(state, instance);
};

/** Handles DELETE /v1/instances/{id}, which is optional in the specification (§4.8). The If-Match header is optional. */
export const deleteInstance: Handler = (state, request, id) => {
  const { deleteObject, softDelete } = state.behaviour;
  if (deleteObject === 405) return methodNotAllowed("GET, PUT");
  const instance = state.instances.byId.get(id);
  if (instance === undefined) return notFound(`instance '${id}'`);
  const deletion = runningOn(state, id).find(({ kind }) => kind === "delete");
  if (deletion !== undefined) return acceptedReply(state, deletion);
  const rejection = checkBusy(state, instance) ?? checkIfMatch(request, instance, state.behaviour);
  if (rejection) return rejection;
  if (deleteObject !== 202) {
    state.removeInstance(instance, state.now());
    if (deleteObject === 204) return bodyless(204);
    return changedReply(state, softDelete === undefined ? instance : { ...instance, status: softDelete });
  }
  const before = instance.status;
  const operation = begin(state, "delete", targetOf(instance), {
    done: (at) => state.removeInstance(instance, at),
    failed: (at) => {
      instance.status = before;
      state.changed(instance, at);
    },
  });
  instance.status = "deleting";
  state.changed(instance, state.now());
  return acceptedReply(state, operation);
};

/** Returns an instance as a list item (§2.2, §4.4). */
function instanceInList(state: State, instance: StoredInstance): object {
  const { behaviour } = state;
  const item = view(state, instance, (at) => dateInList(behaviour, at));
  return rewritten(behaviour, without(behaviour.itemsWithout, item), "item");
}

/** Returns the reply to a read of an instance. */
function instanceReply(state: State, instance: StoredInstance): Reply {
  const { behaviour } = state;
  const body = rewritten(behaviour, view(state, instance, plainDate), "object");
  return jsonReply(200, body, revisionHeaders(behaviour, instance));
}

/** Returns the reply to a change of an instance. */
export function changedReply(state: State, instance: StoredInstance): Reply {
  const { behaviour } = state;
  if (behaviour.writeReply === "full") return instanceReply(state, instance);
  const id = idOnWire(behaviour, instance.id);
  const slim = { id, status: instance.status, ...revisionFields(behaviour, instance) };
  return jsonReply(200, slim, revisionHeaders(behaviour, instance));
}

function rewritten({ spelling }: Behaviour, instance: object, place: "item" | "object"): object {
  return spelling?.({ ...instance }, place) ?? instance;
}

function view(state: State, instance: StoredInstance, date: (at: number) => string): object {
  const { behaviour } = state;
  const fields = normalized(behaviour.normalize, instance.fields);
  const { address } = instance;
  const shown = present(behaviour, {
    id: idOnWire(behaviour, instance.id),
    public_ip: undefined,
    ...fields,
    ...(behaviour.publicIpShows === "null" && { public_ip: null }),
    project: idOnWire(behaviour, fields.project),
    ...(address === undefined && behaviour.ipField === "public_ip" ? {} : { [behaviour.ipField]: address }),
    status: instance.status,
    created_at: date(instance.createdAt),
    updated_at: date(instance.updatedAt),
    url: `${behaviour.linkOrigin ?? state.url}/v1/instances/${instance.id}`,
    ...revisionFields(behaviour, instance),
    ...behaviour.extraFields,
  });
  return without(behaviour.unshown, shown);
}

/** Returns a new instance without storing it. */
export function newInstance(state: State, fields: Record<string, unknown>): StoredInstance {
  const createdAt = state.now();
  return {
    id: state.newId("instance", fields.name),
    createdAt,
    updatedAt: createdAt,
    fields,
    status: "creating",
    revision: state.newRevision(),
  };
}

export function targetOf({ id, fields }: StoredInstance, name = fields.name): OperationTarget {
  return { kind: "instance", id, project: String(fields.project), name };
}

/** Sets the public address of an instance: a new address for "auto", the given address, or none. */
export function assignAddress(state: State, instance: StoredInstance): void {
  const mode = instance.fields.public_ip;
  if (mode === "auto") instance.address ??= state.newAddress();
  else instance.address = typeof mode === "string" && isIPv4(mode) ? mode : undefined;
}

/** Rejects an update or deletion with 409 if a conflicting operation is running on the instance. */
export function checkBusy(state: State, { id, status }: StoredInstance): Refusal | undefined {
  const kinds = runningOn(state, id).map(({ kind }) => kind);
  const detail = (doing: string): string => `instance '${id}' is being ${doing}`;
  if (kinds.includes("create")) return conflict("being_created", detail("created"));
  if (kinds.includes("delete") || status === "deleting") return conflict("being_deleted", detail("deleted"));
  if (state.behaviour.busyInstance === "refused" && kinds.length > 0)
    return conflict("being_updated", detail("updated"));
  return undefined;
}

function runningOn(state: State, id: string): StoredOperation[] {
  return state.operations.running().filter(({ target }) => target.kind === "instance" && target.id === id);
}

/** Rejects a creation if its project doesn't exist or is being deleted, or if the name is already taken. */
function checkPlace(state: State, project: string, name: string): Refusal | undefined {
  if (!state.projects.byId.has(project)) {
    const refusal = notFound(`project '${project}'`, "project_not_found");
    return { ...refusal, errors: [{ pointer: "/project", detail: refusal.detail }] };
  }
  if (deletionOf(state, project)) return conflict("being_deleted", `project '${project}' is being deleted`);
  return checkName(state, project, name);
}

/** With `uniqueNames`, rejects a name that another instance of the project has, or that a running operation sets. */
export function checkName(
  state: State,
  project: unknown,
  name: string,
  except?: string,
): Refusal | undefined {
  if (!state.behaviour.uniqueNames) return undefined;
  const named = [
    ...[...state.instances.byId.values()].map((instance) => targetOf(instance)),
    ...state.operations.running().map(({ target }) => target),
  ];
  const isTaken = named.some(
    (one) => one.kind === "instance" && one.name === name && one.project === project && one.id !== except,
  );
  if (!isTaken) return undefined;
  const detail = `an instance named '${name}' already exists`;
  return { ...conflict("name_taken", detail), errors: [{ pointer: "/name", detail }] };
}

type Test = (instance: StoredInstance) => boolean;

/** Parses the filters `project`, `status` and `label.<key>`. An instance must match all filters. */
function parseFilters({ behaviour }: State, query: URLSearchParams): { tests: Test[] } | Refusal {
  const tests: Test[] = [];
  for (const [name, value] of query) {
    const label = /^label\.(.+)$/s.exec(name)?.[1];
    if (name === "project") tests.push(({ fields }) => fields.project === value);
    else if (name === "status") tests.push(({ status }) => status === value);
    else if (label !== undefined)
      tests.push(({ fields }) => labelOf(normalized(behaviour.normalize, fields).labels, label) === value);
    else if (name !== "limit" && name !== "cursor") {
      return badParameter(name, "unknown_parameter", `'${name}' is not a filter of this list`);
    }
  }
  return { tests };
}

function labelOf(labels: unknown, key: string): string | undefined {
  if (typeof labels !== "object" || labels === null) return undefined;
  const value: unknown = Object.entries(labels).find(([name]) => name === key)?.[1];
  return value === undefined ? undefined : String(value);
}
