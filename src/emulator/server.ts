import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type Answering, answer, internalError } from "./answer";
import { type FaultRule, type Faults, gatewayReply, replyInstead } from "./faults";
import type { Reply } from "./reply";
import { type EmulatorRequest, readRequest } from "./request";
import type { LoggedRequest, RequestLog } from "./request-log";
import { reset, send } from "./send";

/** What handles requests. */
export interface Service extends Answering {
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly stopped: AbortSignal;
  readonly onRequest: ((request: LoggedRequest) => void) | undefined;
  token: string;
}

/** Handles every request: reads and logs it, applies a fault, and answers it. */
export async function handleRequest(
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { state, log, faults } = service;
  const request = await readRequest(incoming);
  if (request === undefined) return;
  const entry = log.add(request, state.now(), service.token);
  const fault = faults.take(entry);
  if (fault) entry.fault = fault.kind;
  if (fault?.kind === "slow" && !(await waited(fault.delayMs ?? 1000, service.stopped))) return;
  if (fault?.kind === "reset") reset(outgoing);
  else if (fault?.kind !== "hang") entry.status = respond(service, request, outgoing, fault);
  service.onRequest?.(entry);
}

function respond(
  service: Service,
  request: EmulatorRequest,
  outgoing: ServerResponse,
  fault: FaultRule | undefined,
): number {
  try {
    return send(outgoing, replyTo(service, request, fault), fault);
  } catch (error) {
    // For example a `location` of a fault rule that no header may contain.
    return send(outgoing, internalError(service.state, request, error));
  }
}

/** `false` if the service was stopped before. */
function waited(ms: number, stopped: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal: stopped }).catch(() => false);
}

function replyTo(service: Service, request: EmulatorRequest, fault: FaultRule | undefined): Reply {
  const { state } = service;
  const instead = fault && replyInstead(fault, state, request.path);
  const reply = answer(service, request, instead && { reply: instead, cached: fault?.cached ?? false });
  return fault?.kind === "gateway" ? gatewayReply(fault, state, request.path) : reply;
}
