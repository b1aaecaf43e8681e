import { problemReply } from "./problems";
import type { Reply } from "./reply";
import type { ReceivedRequest } from "./request";
import type { State } from "./state";

/** All kinds of faults. */
export const faultKinds = [
  "reset",
  "hang",
  "slow",
  "status",
  "html",
  "lost-reply",
  "gateway",
  "truncate",
  "empty",
  "wrong-content-type",
  "gzip",
  "illegal-header",
  "control-character",
  "bare-lf",
  "bad-chunk",
  "truncated-head",
  "garbage",
] as const;

/**
 * A kind of fault.
 *
 * Some faults prevent or delay the effect of a request:
 * - `reset` closes the connection, and `hang` never replies.
 * - `status` replies with a problem document, and `html` replies with a proxy's page.
 * - `slow` waits before it handles the request.
 *
 * All other faults handle the request, but the reply is lost or damaged:
 * - `lost-reply` closes the connection, and `gateway` replies with the error of a gateway.
 * - `truncate` cuts off the body, and `empty` omits the body.
 * - `wrong-content-type` sends the body as `text/plain`, and `gzip` compresses the body although the client doesn't accept gzip.
 * - `illegal-header`, `control-character`, `bare-lf`, `bad-chunk`, `truncated-head` and `garbage` violate HTTP.
 */
export type FaultKind = (typeof faultKinds)[number];

/** A rule that defines a fault and the requests that it affects. */
export interface FaultRule {
  /** The kind of fault. */
  readonly kind: FaultKind;
  /** The method of the affected requests, in any case. @default any method */
  readonly method?: string;
  /** The path of the affected requests. A string with a trailing `/` matches all paths below it. @default any path */
  readonly path?: string | RegExp;
  /**
   * Reports whether the fault affects a request whose method and path match. The function is called once for each such request, so its
   * result may be random.
   * @default always
   */
  readonly when?: (request: ReceivedRequest) => boolean;
  /** The number of requests to affect. Use `Infinity` to affect all requests. @default 1 */
  readonly times?: number;
  /** The number of matching requests that the fault skips first. @default 0 */
  readonly after?: number;
  /** The status of the reply. @default 503 for `status`, 502 for `html` and `gateway`, otherwise the status of the intact reply */
  readonly status?: number;
  /** The body of a `gateway` reply: a page, a problem document, or empty. @default "html" */
  readonly body?: "html" | "problem" | "empty";
  /** The `Retry-After` header of `status`, `html` and `gateway`: seconds, or a date as a string. @default no header */
  readonly retryAfter?: number | string;
  /** The `Location` header of `status` and `gateway`, for a redirect. @default no header */
  readonly location?: string;
  /** The members to replace in the problem document that `status` and `gateway` return. @default none */
  readonly problem?: object;
  /** The delay of `slow` in milliseconds. @default 1000 */
  readonly delayMs?: number;
  /** Whether the reply of `status` or `html` is stored for the idempotency key and replayed. @default false */
  readonly cached?: boolean;
}

/** An active fault. */
export interface FaultHandle {
  /** The number of requests that the fault has affected. */
  readonly used: number;
  /** Ends the fault. */
  off(): void;
}

/** A fault that still affects requests. */
export interface ActiveFault {
  readonly id: number;
  readonly rule: FaultRule;
  seen: number;
  used: number;
}

/** The active faults. If several faults match a request, the oldest fault applies. */
export class Faults {
  private readonly active = new Set<ActiveFault>();
  private added = 0;

  add(rule: FaultRule): FaultHandle {
    this.added += 1;
    const fault: ActiveFault = { id: this.added, rule, seen: 0, used: 0 };
    this.active.add(fault);
    return {
      get used() {
        return fault.used;
      },
      off: () => this.end(fault),
    };
  }

  /** Returns the faults that still affect requests, oldest first. */
  pending(): ActiveFault[] {
    return [...this.active].filter(({ rule, used }) => used < (rule.times ?? 1));
  }

  end(fault: ActiveFault): void {
    this.active.delete(fault);
  }

  /** Returns the fault that affects a request, and counts the request. */
  take(request: ReceivedRequest): FaultRule | undefined {
    for (const fault of this.active) {
      if (fault.used >= (fault.rule.times ?? 1) || !matches(fault.rule, request)) continue;
      fault.seen += 1;
      if (fault.seen <= (fault.rule.after ?? 0)) continue;
      fault.used += 1;
      return fault.rule;
    }
    return undefined;
  }
}

function matches({ method, path, when }: FaultRule, request: ReceivedRequest): boolean {
  if (method !== undefined && method.toUpperCase() !== request.method) return false;
  return isBelow(path, request.path) && (when?.(request) ?? true);
}

function isBelow(path: FaultRule["path"], requested: string): boolean {
  if (path === undefined) return true;
  if (typeof path !== "string") return requested.search(path) !== -1;
  return path.endsWith("/") ? requested.startsWith(path) : requested === path;
}

/** Returns the reply of a fault that prevents the request from taking effect. */
export function replyInstead(rule: FaultRule, state: State, path: string): Reply | undefined {
  if (rule.kind === "html") return page(rule, rule.status ?? 502);
  return rule.kind === "status" ? problemWith(rule, state, path, rule.status ?? 503) : undefined;
}

/** Returns the error reply of a gateway that lost the service's reply. */
export function gatewayReply(rule: FaultRule, state: State, path: string): Reply {
  const status = rule.status ?? 502;
  if (rule.body === "problem") return problemWith(rule, state, path, status);
  return rule.body === "empty" ? { status, headers: retryAfterOf(rule), body: "" } : page(rule, status);
}

function page(rule: FaultRule, status: number): Reply {
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8", ...retryAfterOf(rule) },
    body: "<!doctype html>\n<title>Gateway</title>\n<h1>This is not the page you are looking for</h1>\n",
  };
}

const codes: Readonly<Record<number, string>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  412: "revision_mismatch",
  429: "rate_limited",
  503: "unavailable",
};

function problemWith(rule: FaultRule, state: State, path: string, status: number): Reply {
  const code = codes[status] ?? (status >= 500 ? "internal" : "refused");
  const headers = {
    ...retryAfterOf(rule),
    ...(rule.location !== undefined && { location: rule.location }),
  };
  return problemReply(state, { status, code, detail: "requested fault", headers }, path, rule.problem);
}

function retryAfterOf({ retryAfter }: FaultRule): Record<string, string> {
  return retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
}
