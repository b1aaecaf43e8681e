import { problemReply } from "./problems";
import type { Reply } from "./reply";
import type { FaultKind, LoggedRequest } from "./request-log";
import type { State } from "./state";

/** Which requests go wrong, and how. */
export interface FaultRule {
  /** What goes wrong. */
  readonly kind: FaultKind;
  /** @default any method */
  readonly method?: string;
  /** A whole path; with a trailing "/", everything below it. @default any path */
  readonly path?: string | RegExp;
  /** Whether it applies to this request, whose method and path match. Called once per request, so it may be random. @default yes */
  readonly when?: (request: LoggedRequest) => boolean;
  /** How many requests go wrong; Infinity: all. @default 1 */
  readonly times?: number;
  /** How many matching requests pass first. @default 0 */
  readonly after?: number;
  /** Status of the reply. @default 503 for `status`, 502 for `html` and `gateway`, else that of the work's reply */
  readonly status?: number;
  /** Body of `gateway`: a page, a problem document, or nothing. @default "html" */
  readonly body?: "html" | "problem" | "empty";
  /** Retry-After: seconds, or a date as a string. @default none */
  readonly retryAfter?: number | string;
  /** Location header of `status`, for a redirect. @default none */
  readonly location?: string;
  /** Members of the problem document of `status` and `gateway` that differ from the usual ones. @default none */
  readonly problem?: object;
  /** Delay of `slow` in milliseconds. @default 1000 */
  readonly delayMs?: number;
  /** Whether the reply of `status` or `html` is the first reply of the Idempotency-Key, and returned again (§4.7). @default false */
  readonly cached?: boolean;
}

/** A fault that was requested. */
export interface FaultHandle {
  /** How many requests went wrong because of it. */
  readonly used: number;
  /** Ends it. */
  off(): void;
}

interface ActiveFault {
  readonly rule: FaultRule;
  seen: number;
  used: number;
}

/** The faults that were requested. If several match, the first one applies. */
export class Faults {
  private readonly active = new Set<ActiveFault>();

  add(rule: FaultRule): FaultHandle {
    const fault: ActiveFault = { rule, seen: 0, used: 0 };
    this.active.add(fault);
    return {
      get used() {
        return fault.used;
      },
      off: () => void this.active.delete(fault),
    };
  }

  /** The fault that applies to this request, if any. */
  take(request: LoggedRequest): FaultRule | undefined {
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

function matches({ method, path, when }: FaultRule, request: LoggedRequest): boolean {
  if (method !== undefined && method.toUpperCase() !== request.method) return false;
  return isBelow(path, request.path) && (when?.(request) ?? true);
}

function isBelow(path: FaultRule["path"], requested: string): boolean {
  if (path === undefined) return true;
  if (typeof path !== "string") return requested.search(path) !== -1;
  return path.endsWith("/") ? requested.startsWith(path) : requested === path;
}

/** The reply of a fault that comes in place of the work. */
export function replyInstead(rule: FaultRule, state: State, path: string): Reply | undefined {
  if (rule.kind === "html") return page(rule, rule.status ?? 502);
  return rule.kind === "status" ? problemWith(rule, state, path, rule.status ?? 503) : undefined;
}

/** The reply of a gateway that lost the reply of the work. */
export function gatewayReply(rule: FaultRule, state: State, path: string): Reply {
  const status = rule.status ?? 502;
  if (rule.body === "problem") return problemWith(rule, state, path, status);
  const { headers, body } = page(rule, status);
  return rule.body === "empty"
    ? { status, headers: retryAfterOf(rule), body: "" }
    : { status, headers, body };
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
