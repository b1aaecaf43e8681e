import { type Problem, problemOf } from "./problems";
import type { Reply } from "./reply";
import type { LoggedRequest } from "./request-log";

/**
 * What goes wrong. Before any work: `reset` cuts the connection, `hang` never answers, `status` and `html` answer
 * something else. After the work: `lost-reply` cuts the connection, `truncate` does so in the middle of the body,
 * `empty` leaves out the body, `wrong-content-type` calls it text/plain. `slow` only waits before the work.
 */
export type FaultKind =
  | "lost-reply"
  | "reset"
  | "status"
  | "slow"
  | "hang"
  | "truncate"
  | "html"
  | "empty"
  | "wrong-content-type";

/** Which requests go wrong, and how. */
export interface FaultRule {
  /** What goes wrong. */
  readonly kind: FaultKind;
  /** @default any method */
  readonly method?: string;
  /** A whole path; one that ends in "/": everything below it. @default any path */
  readonly path?: string | RegExp;
  /** Whether it is for this request, which method and path fit. Asked once for each: it may draw lots. @default yes */
  readonly when?: (request: LoggedRequest) => boolean;
  /** How many requests it spoils; Infinity: all. @default 1 */
  readonly times?: number;
  /** How many matching requests it lets pass first. @default 0 */
  readonly after?: number;
  /** Status of the answer. @default 503 for `status`, 502 for `html`, else what the work gave */
  readonly status?: number;
  /** Retry-After: seconds, or an HTTP date as text. @default none */
  readonly retryAfter?: number | string;
  /** Location header of the answer of `status`: a redirect, with a status that says so. @default none */
  readonly location?: string;
  /** Members of the problem document of `status` that shall differ. @default none */
  readonly problem?: object;
  /** What `slow` waits, in milliseconds. @default 1000 */
  readonly delayMs?: number;
  /** The answer of `status` or `html` is the first reply of the request's Idempotency-Key, and comes again (§4.7). @default false */
  readonly cached?: boolean;
}

/** A fault on demand. */
export interface FaultHandle {
  /** How many requests it has spoiled. */
  readonly used: number;
  /** Ends it. */
  off(): void;
}

interface ActiveFault {
  readonly rule: FaultRule;
  seen: number;
  used: number;
}

/** The faults on demand; of several that match, the one asked for first. */
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

  /** The fault that spoils this request, if any. */
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

function isBelow(path: FaultRule["path"], asked: string): boolean {
  if (path === undefined) return true;
  if (typeof path !== "string") return asked.search(path) !== -1;
  return path.endsWith("/") ? asked.startsWith(path) : asked === path;
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

/** The answer that a fault gives in place of the work. */
export function replyInstead(rule: FaultRule, path: string, traceId: string): Reply | undefined {
  const retryAfter: Record<string, string> =
    rule.retryAfter === undefined ? {} : { "retry-after": String(rule.retryAfter) };
  if (rule.kind === "html") {
    const body =
      "<!doctype html>\n<title>Gateway</title>\n<h1>This is not the page you are looking for</h1>\n";
    return {
      status: rule.status ?? 502,
      headers: { "content-type": "text/html; charset=utf-8", ...retryAfter },
      body,
    };
  }
  if (rule.kind !== "status") return undefined;
  const status = rule.status ?? 503;
  const code = codes[status] ?? (status >= 500 ? "internal" : "refused");
  const problem: Problem = problemOf(
    { status, code, detail: "the service was told to answer this" },
    path,
    traceId,
  );
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      ...retryAfter,
      ...(rule.location !== undefined && { location: rule.location }),
    },
    body: JSON.stringify({ ...problem, ...rule.problem }),
  };
}
