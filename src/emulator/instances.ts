import { isIPv4 } from "node:net";
import { instanceBody, parseBody } from "./body";
import { instanceInList, instanceReply } from "./instance-view";
import { acceptedReply, begin } from "./operations";
import { page, parsePage } from "./pages";
import { badParameter, invalid, methodNotAllowed, notFound, type Refusal } from "./problems";
import { json, noContent } from "./reply";
import { checkIfMatch } from "./revisions";
import type { Handler, State, StoredInstance } from "./state";

/** POST /v1/instances (§4.1) */
export const createInstance: Handler = (state, request) => {
  const parsed = parseBody(request, instanceBody, state.behaviour.revisionField);
  if (!("fields" in parsed)) return parsed;
  const { fields } = parsed;
  const refused = state.rules.checkValues(fields) ?? checkPlace(state, fields.project, fields.name);
  if (refused) return refused;
  const instance = newInstance(state, {
    ...fields,
    ssh_keys: fields.ssh_keys ?? [],
    labels: fields.labels ?? {},
  });
  const visible = state.behaviour.instanceVisible === "at-once";
  if (visible) state.instances.add(instance);
  const end = (status: string, at: number) => {
    instance.status = status;
    assignAddress(state, instance);
    state.changed(instance, at);
    if (!visible) state.instances.add(instance);
  };
  const operation = begin(state, "create", `/v1/instances/${instance.id}`, {
    done: (at) => end(state.behaviour.statusAfterCreate, at),
    failed: (at, leaveObject) => {
      if (leaveObject) end("error", at);
      else state.instances.remove(instance.id);
    },
  });
  return acceptedReply(state, operation);
};

/** GET /v1/instances (§4.4) */
export const listInstances: Handler = (state, request) => {
  const query = parsePage(request.query);
  if ("code" in query) return query;
  if (state.behaviour.instanceLimit === "refused" && Number(request.query.get("limit")) > 100) {
    const detail = "limit must not be greater than 100";
    return { ...invalid([{ parameter: "limit", detail }]), code: "invalid_limit" };
  }
  const filters = parseFilters(request.query);
  if ("code" in filters) return filters;
  const matches = (instance: StoredInstance) => filters.tests.every((test) => test(instance));
  const view = (instance: StoredInstance) => instanceInList(state, instance);
  return json(200, page(state.instances, query, state.behaviour.pageSize, matches, view));
};

/** GET /v1/instances/{id} (§4.8 leaves open whether there is one) */
export const getInstance: Handler = (state, _request, id) => {
  if (state.behaviour.getObject === 405) return methodNotAllowed("PUT, DELETE");
  const instance = state.behaviour.getObject === 404 ? undefined : state.instances.byId.get(id);
  return instance === undefined ? notFound(`instance '${id}'`) : instanceReply(state, instance);
};

/** DELETE /v1/instances/{id} (§4.8 leaves open whether there is one); If-Match is honoured, not required. */
export const deleteInstance: Handler = (state, request, id) => {
  const { deleteObject } = state.behaviour;
  if (deleteObject === 405) return methodNotAllowed("GET, PUT");
  const instance = state.instances.byId.get(id);
  if (instance === undefined) return notFound(`instance '${id}'`);
  const running = state.operations.byId.get(instance.deletion ?? "");
  if (running?.outcome === "open") return acceptedReply(state, running);
  const mismatch = checkIfMatch(request, instance, state.behaviour);
  if (mismatch) return mismatch;
  if (deleteObject === 204) {
    state.instances.remove(id);
    return noContent();
  }
  const before = instance.status;
  const operation = begin(state, "delete", undefined, {
    done: () => void state.instances.remove(id),
    failed: (at) => {
      instance.status = before;
      state.changed(instance, at);
    },
  });
  instance.status = "deleting";
  instance.deletion = operation.id;
  state.changed(instance, state.now());
  return acceptedReply(state, operation);
};

/** An instance that is being created, in no list yet. */
export function newInstance(state: State, fields: Record<string, unknown>): StoredInstance {
  const createdAt = state.now();
  return {
    id: state.newId("ins"),
    createdAt,
    updatedAt: createdAt,
    fields,
    status: "creating",
    revision: state.newRevision(),
  };
}

/** Gives an instance the address that its `public_ip` asks for: "auto" any, an address itself, else none. */
export function assignAddress(state: State, instance: StoredInstance): void {
  const mode = instance.fields.public_ip;
  if (mode === "auto") instance.address ??= state.newAddress();
  else instance.address = typeof mode === "string" && isIPv4(mode) ? mode : undefined;
}

/** Refusal of a name that is taken, or of a project that is not there. */
function checkPlace(state: State, project: string, name: string): Refusal | undefined {
  if (!state.projects.byId.has(project)) {
    const refusal = notFound(`project '${project}'`, "project_not_found");
    return { ...refusal, errors: [{ pointer: "/project", detail: refusal.detail }] };
  }
  return checkName(state, project, name);
}

/** 409 where names are unique and another instance of the project has this one. */
export function checkName(
  state: State,
  project: unknown,
  name: string,
  except?: string,
): Refusal | undefined {
  if (!state.behaviour.uniqueNames) return undefined;
  for (const { id, fields } of state.instances.byId.values()) {
    if (fields.name === name && fields.project === project && id !== except) {
      const detail = `there is an instance named '${name}' already`;
      return { status: 409, code: "name_taken", detail, errors: [{ pointer: "/name", detail }] };
    }
  }
  return undefined;
}

type Test = (instance: StoredInstance) => boolean;

/** `project`, `status` and `label.<key>`: an instance must pass all of them. */
function parseFilters(query: URLSearchParams): { tests: Test[] } | Refusal {
  const tests: Test[] = [];
  for (const [name, value] of query) {
    const label = /^label\.(.+)$/s.exec(name)?.[1];
    if (name === "project") tests.push(({ fields }) => fields.project === value);
    else if (name === "status") tests.push(({ status }) => status === value);
    else if (label !== undefined) tests.push(({ fields }) => labelOf(fields.labels, label) === value);
    else if (name !== "limit" && name !== "cursor") {
      return badParameter(name, "unknown_parameter", `'${name}' is no filter of this list`);
    }
  }
  return { tests };
}

function labelOf(labels: unknown, key: string): unknown {
  if (typeof labels !== "object" || labels === null) return undefined;
  return Object.entries(labels).find(([name]) => name === key)?.[1];
}
