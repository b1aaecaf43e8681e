import { checkAccess } from "./access";
import type { FirstReplies } from "./idempotency";
import { updateInstance } from "./instance-update";
import { createInstance, deleteInstance, getInstance, listInstances } from "./instances";
import { getOperation, settleOperations } from "./operations";
import { methodNotAllowed, notFound, problemReply, type Refusal } from "./problems";
import { createProject, deleteProject, getProject, listProjects } from "./projects";
import type { Reply } from "./reply";
import { type EmulatorRequest, maxBodyBytes } from "./request";
import { authorization } from "./request-log";
import type { Handler, State } from "./state";

/** What the service needs to answer requests. */
export interface Answering {
  readonly state: State;
  readonly firstReplies: FirstReplies;
  readonly token: string;
}

/** A reply in place of the endpoint's. With `cached`, it is the first reply of an Idempotency-Key. */
export interface Instead {
  readonly reply: Reply;
  readonly cached: boolean;
}

type Endpoints = Readonly<Record<string, { readonly all: Methods; readonly one: Methods }>>;
type Methods = Readonly<Partial<Record<string, Handler>>>;

/** The endpoints (§4), for a collection and for one of its members. */
const endpoints: Endpoints = {
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

/**
 * Answers a request: first what comes in place of the work, then body size, token, permissions and first replies, then the
 * endpoint itself.
 */
export function answer(service: Answering, request: EmulatorRequest, instead?: Instead): Reply {
  const { state } = service;
  state.requests += 1;
  const reply = (answer: Reply | Refusal): Reply =>
    "code" in answer ? problemReply(state, answer, request.path) : answer;
  try {
    settleOperations(state);
    if (instead && !instead.cached) return instead.reply;
    const refused = checkSize(request) ?? checkToken(request, service.token) ?? checkAccess(state, request);
    if (refused) return reply(refused);
    return answerOnce(service, request, reply, () => instead?.reply ?? reply(work(state, request)));
  } catch (error) {
    return internalError(state, request, error);
  }
}

export function internalError(state: State, { path }: EmulatorRequest, error: unknown): Reply {
  const detail = error instanceof Error ? error.message : String(error);
  return problemReply(state, { status: 500, code: "internal", detail }, path);
}

/** A POST with an Idempotency-Key gets its first reply again (§4.7). */
function answerOnce(
  { state, firstReplies }: Answering,
  request: EmulatorRequest,
  reply: (answer: Reply | Refusal) => Reply,
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

function work(state: State, request: EmulatorRequest): Reply | Refusal {
  const [root, version, name = "", id, ...more] = request.path.split("/");
  const collection = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined;
  const methods = id === undefined ? collection?.all : collection?.one;
  if (root !== "" || version !== "v1" || methods === undefined || id === "" || more.length > 0)
    return notFound(request.path);
  const allowed = Object.keys(methods);
  if (allowed.length === 0) return notFound(request.path);
  const handler = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  return handler?.(state, request, decoded(id ?? "")) ?? methodNotAllowed(allowed.join(", "));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function checkSize(request: EmulatorRequest): Refusal | undefined {
  if (!request.tooLarge) return undefined;
  return { status: 413, code: "body_too_large", detail: `a body may have ${maxBodyBytes} bytes at most` };
}

/** §5 leaves open the reply to a missing or wrong token. */
function checkToken(request: EmulatorRequest, token: string): Refusal | undefined {
  const state = authorization(request, token);
  if (state === "ok") return undefined;
  const detail = state === "missing" ? "send the token as a bearer credential" : "the token is not valid";
  return { status: 401, code: "unauthenticated", detail, headers: { "www-authenticate": "Bearer" } };
}
