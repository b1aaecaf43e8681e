import type { FirstReplies } from "./idempotency";
import { updateInstance } from "./instance-update";
import { createInstance, deleteInstance, getInstance, listInstances } from "./instances";
import { finishDueOperations, getOperation } from "./operations";
import { methodNotAllowed, notFound, problemReply, type Refusal } from "./problems";
import { createProject, deleteProject, getProject, listProjects } from "./projects";
import type { Reply } from "./reply";
import { authorization, type EmulatorRequest, maxBodyBytes } from "./request";
import type { Handler, State } from "./state";

/** The parts of the emulator that are needed to answer requests. */
export interface Answering {
  readonly state: State;
  readonly firstReplies: FirstReplies;
  readonly token: string;
}

/** A reply that a fault sends instead of the endpoint's reply. With `cached`, the reply is stored for its Idempotency-Key. */
export interface Instead {
  readonly reply: Reply;
  readonly cached: boolean;
}

type Methods = Readonly<Partial<Record<string, Handler>>>;

/** The endpoints (§4) of each collection and of its members. */
const endpoints: Readonly<Record<string, { readonly all: Methods; readonly one: Methods }>> = {
  projects: {
    all: { GET: listProjects, POST: createProject },
    one: { GET: getProject, DELETE: deleteProject },
  },
  instances: {
    all: { GET: listInstances, POST: createInstance },
    one: { GET: getInstance, PUT: updateInstance, DELETE: deleteInstance },
  },
  operations: { all: {}, one: { GET: getOperation } },
};

/** Answers a request: checks its size, token and permissions, and then replays a stored reply or calls the endpoint. */
export function answer(service: Answering, request: EmulatorRequest, instead?: Instead): Reply {
  const { state, token } = service;
  state.requests += 1;
  const reply = (result: Reply | Refusal): Reply =>
    "code" in result ? problemReply(state, result, request.path) : result;
  try {
    finishDueOperations(state);
    if (instead && !instead.cached) return instead.reply;
    const rejection = checkSize(request) ?? checkToken(request, token) ?? checkAccess(state, request);
    if (rejection) return reply(rejection);
    return answerOnce(service, request, reply, () => instead?.reply ?? reply(callEndpoint(state, request)));
  } catch (error) {
    return internalError(state, request, error);
  }
}

export function internalError(state: State, { path }: EmulatorRequest, error: unknown): Reply {
  const detail = error instanceof Error ? error.message : String(error);
  return problemReply(state, { status: 500, code: "internal", detail }, path);
}

/** Replays the first reply to a POST with the same Idempotency-Key (§4.7), or creates and stores that reply. */
function answerOnce(
  { state, firstReplies }: Answering,
  request: EmulatorRequest,
  reply: (result: Reply | Refusal) => Reply,
  make: () => Reply,
): Reply {
  const { behaviour } = state;
  const key = request.headers["idempotency-key"];
  if (request.method !== "POST" || key === undefined) return make();
  const first = firstReplies.find(request, String(key), behaviour, state.now());
  if (first) return reply(first);
  const made = make();
  if (made.status < 400 || behaviour.cachedReplies === "all") {
    firstReplies.keep(request, String(key), state.now(), made);
  }
  return made;
}

function callEndpoint(state: State, request: EmulatorRequest): Reply | Refusal {
  const [root, version, name = "", id, ...more] = request.path.split("/");
  const collection = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  const methods = (id === undefined ? collection?.all : collection?.one) ?? {};
  const allowed = Object.keys(methods);
  if (root !== "" || version !== "v1" || allowed.length === 0 || id === "" || more.length > 0)
    return notFound(request.path);
  const handler = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  return handler?.(state, request, decoded(id ?? "")) ?? methodNotAllowed(allowed.join(", "));
}

export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function checkSize(request: EmulatorRequest): Refusal | undefined {
  if (!request.tooLarge) return undefined;
  return { status: 413, code: "body_too_large", detail: `a body must not exceed ${maxBodyBytes} bytes` };
}

/** Checks the token. The specification doesn't define the reply to a missing or wrong token (§5). */
function checkToken(request: EmulatorRequest, token: string): Refusal | undefined {
  const result = authorization(request, token);
  if (result === "ok") return undefined;
  const detail = result === "missing" ? "send the token as a bearer credential" : "the token is not valid";
  return { status: 401, code: "unauthenticated", detail, headers: { "www-authenticate": "Bearer" } };
}

/** Checks the permissions of the token, which the specification doesn't define (§5). */
function checkAccess(state: State, request: EmulatorRequest): Refusal | undefined {
  const { readOnlyToken, forbiddenStatus } = state.behaviour;
  const { method, path, query } = request;
  const isForbidden =
    (readOnlyToken && method !== "GET") ||
    projectsOf(state, request).some((project) => state.isHidden(project)) ||
    (forbiddenStatus !== 404 && query.has("project") && state.isHidden(query.get("project")));
  if (!isForbidden) return undefined;
  if (forbiddenStatus === 404) return notFound(path);
  if (forbiddenStatus === 401)
    return { status: 401, code: "unauthenticated", detail: "the token is not valid for this request" };
  return { status: 403, code: "forbidden", detail: "the token has no permission for this request" };
}

/** Returns the ids or names of the project that a request refers to, or an empty list for a list request. */
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
    return undefined; // the endpoint rejects a body that isn't JSON
  }
}
