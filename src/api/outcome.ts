import type { Attempt, WireReply } from "./transport";

/** What is known of a request: it was carried out, it never will be, or neither is certain. */
export type Outcome = "done" | "rejected" | "unknown";

/** What has to be known of a request to judge an attempt. */
export interface ExpectedReply {
  /** An empty success doesn't answer it. @default false */
  readonly needsBody?: boolean | undefined;
}

/**
 * The replies that are certain to come before any work. The list is closed: any other reply leaves it open whether the request was or
 * will be carried out. That includes every 5xx, 408 and 425, redirects, and 406, which frameworks send after the work.
 */
const REJECTIONS: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431,
]);

/**
 * Judges one attempt by itself. A request is rejected only if all its attempts were: a reply like 401, 404 or 422 tells nothing about
 * an earlier attempt that wasn't answered.
 */
export function classifyAttempt(request: ExpectedReply, attempt: Attempt): Outcome {
  if (attempt.kind === "failure") return attempt.failure.neverSent ? "rejected" : "unknown";
  if (attempt.kind === "silence") return attempt.neverSent ? "rejected" : "unknown";
  const { reply } = attempt;
  if (isSuccess(reply)) return isUsable(request, reply) ? "done" : "unknown";
  return REJECTIONS.has(reply.status) && keyConflict(reply) === undefined ? "rejected" : "unknown";
}

/** Whether the status is a success. */
export function isSuccess({ status }: WireReply): boolean {
  return status >= 200 && status < 300;
}

/** Whether a success has a body that can be read, as far as the request needs one. */
export function isUsable({ needsBody }: ExpectedReply, { status, body, header }: WireReply): boolean {
  if (body.kind === "empty") return !needsBody || status === 204 || header("location") !== undefined;
  return body.kind === "json";
}

/**
 * What the service says of the idempotency key itself: that the key's first request still runs, or that another request has used it
 * (§4.7). Only the machine-readable members count, because the texts can contain any name.
 */
export function keyConflict({ status, problem }: WireReply): "in progress" | "reused" | undefined {
  const named = `${problem?.code ?? ""} ${problem?.type ?? ""}`;
  if (status < 400 || status >= 500 || !/idempoten/i.test(named)) return undefined;
  if (/invalid|malformed|missing|required/i.test(named)) return undefined;
  return status === 409 && !/reus|mismatch|differ/i.test(named) ? "in progress" : "reused";
}

/** Tells whether a trace id identifies the replies to one request, or is shared by all kinds of requests. */
export interface TraceIds {
  /**
   * Records that a reply carries a trace id.
   *
   * @param request what was asked: the idempotency key of a creation, or a token of its own for any other request
   * @returns whether it identifies the reply. An empty or constant id doesn't, nor one made from the key, nor one that another request
   * got, too.
   */
  identifies(traceId: string | undefined, request: string | symbol): boolean;
}

/** Ids remembered: those of an outage, in which many requests fail at once. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");

export function createTraceIds(): TraceIds {
  const requests = new Map<string, string | symbol>();
  return {
    identifies(traceId = "", request) {
      const known = requests.get(traceId) ?? request;
      const owner = known === request ? request : SHARED;
      requests.delete(traceId);
      requests.set(traceId, owner);
      for (const oldest of requests.keys()) {
        if (requests.size <= MAX_REMEMBERED_IDS) break;
        requests.delete(oldest);
      }
      return owner === request && isReal(traceId) && !isDerivedFrom(request, traceId);
    },
  };
}

function isDerivedFrom(request: string | symbol, traceId: string): boolean {
  return typeof request === "string" && normalizedId(traceId).includes(normalizedId(request));
}

/** A UUID has the same meaning without its dashes and in upper case. */
function normalizedId(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}

/** Ids such as "", "none" and "0000-0000" say that there is none. */
function isReal(traceId: string): boolean {
  return /[1-9]/.test(traceId);
}
