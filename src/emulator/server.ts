import { setTimeout as delay } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import { type FaultRule, type Faults, replyInstead } from "./faults";
import type { FirstReplies } from "./idempotency";
import { updateInstance } from "./instance-update";
import { createInstance, deleteInstance, getInstance, listInstances } from "./instances";
import { getOperation } from "./operations";
import { methodNotAllowed, notFound, problemOf, problemReply, type Refusal } from "./problems";
import { createProject, deleteProject, getProject, listProjects } from "./projects";
import type { Reply } from "./reply";
import { type EmulatorRequest, maxBodyBytes, readRequest } from "./request";
import { authorization, type LoggedRequest, type RequestLog } from "./request-log";
import { reset, send } from "./send";
import type { Handler, State } from "./state";

/** What a request meets on its way. */
export interface Service {
  readonly state: State;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly firstReplies: FirstReplies;
  readonly stopped: AbortSignal;
  readonly onRequest: ((request: LoggedRequest) => void) | undefined;
  token: string;
}

type Env = { Bindings: HttpBindings };

/** The endpoints (§4). */
export function createApp(service: Service): Hono<Env> {
  const route = (handler: Handler) => async (context: Context<Env>) => {
    await handleRequest(service, context.env, handler, context.req.param("id") ?? "");
    return RESPONSE_ALREADY_SENT;
  };
  const only = (allow: string) => route(() => methodNotAllowed(allow));
  return new Hono<Env>()
    .get("/v1/projects", route(listProjects))
    .post("/v1/projects", route(createProject))
    .all("/v1/projects", only("GET, POST"))
    .get("/v1/projects/:id", route(getProject))
    .delete("/v1/projects/:id", route(deleteProject))
    .all("/v1/projects/:id", only("GET, DELETE"))
    .get("/v1/instances", route(listInstances))
    .post("/v1/instances", route(createInstance))
    .all("/v1/instances", only("GET, POST"))
    .get("/v1/instances/:id", route(getInstance))
    .put("/v1/instances/:id", route(updateInstance))
    .delete("/v1/instances/:id", route(deleteInstance))
    .all("/v1/instances/:id", only("GET, PUT, DELETE"))
    .get("/v1/operations/:id", route(getOperation))
    .all("/v1/operations/:id", only("GET"))
    .notFound(route((_state, request) => notFound(request.path)));
}

/** The way of every request: read, logged, spoiled, worked on, answered. */
async function handleRequest(
  service: Service,
  { incoming, outgoing }: HttpBindings,
  handler: Handler,
  id: string,
): Promise<void> {
  const { state, log, faults } = service;
  const request = await readRequest(incoming);
  if (request === undefined) return;
  const entry = log.add(request, state.now(), service.token);
  const fault = faults.take(entry);
  if (fault) entry.fault = fault.kind;
  if (fault?.kind === "slow" && !(await waited(fault.delayMs ?? 1000, service.stopped))) return;
  if (fault?.kind === "reset") reset(outgoing);
  else if (fault?.kind !== "hang")
    entry.status = send(outgoing, work(service, request, handler, id, fault), fault);
  service.onRequest?.(entry);
}

/** `false` when the service was stopped meanwhile. */
function waited(ms: number, stopped: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal: stopped }).catch(() => false);
}

/** Body size, then faults in place of the work, then the token, then first replies, then the endpoint itself. */
function work(
  service: Service,
  request: EmulatorRequest,
  handler: Handler,
  id: string,
  fault: FaultRule | undefined,
): Reply {
  const { state } = service;
  try {
    state.operations.settle(state.now());
    const instead = fault && replyInstead(fault, request.path, state.newTraceId());
    if (instead && !fault?.cached) return instead;
    const refused = checkSize(request) ?? checkToken(request, service.token);
    if (refused) return reply(state, request, refused);
    return answerOnce(service, request, () => instead ?? reply(state, request, handler(state, request, id)));
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return reply(state, request, { status: 500, code: "internal", detail });
  }
}

/** A POST with an Idempotency-Key is answered as it was the first time (§4.7). */
function answerOnce({ state, firstReplies }: Service, request: EmulatorRequest, answer: () => Reply): Reply {
  const key = request.headers["idempotency-key"];
  if (request.method !== "POST" || key === undefined) return answer();
  const first = firstReplies.find(request, String(key), state.now());
  if (first) return reply(state, request, first);
  const made = answer();
  if (made.status < 400 || state.behaviour.cachedReplies === "all") {
    firstReplies.keep(request, String(key), state.now(), made);
  }
  return made;
}

function checkSize(request: EmulatorRequest): Refusal | undefined {
  if (!request.tooLarge) return undefined;
  return { status: 413, code: "body_too_large", detail: `a body may have ${maxBodyBytes} bytes at most` };
}

/** §5; the answer to a missing or wrong token is left open there. */
function checkToken(request: EmulatorRequest, token: string): Refusal | undefined {
  const state = authorization(request, token);
  if (state === "ok") return undefined;
  const detail = state === "missing" ? "send the token as a bearer credential" : "the token is not valid";
  return { status: 401, code: "unauthenticated", detail, headers: { "www-authenticate": "Bearer" } };
}

function reply(state: State, request: EmulatorRequest, answer: Reply | Refusal): Reply {
  if (!("code" in answer)) return answer;
  const problem = problemOf(answer, request.path, state.newTraceId());
  return problemReply(problem, answer.status, { ...answer.headers });
}
