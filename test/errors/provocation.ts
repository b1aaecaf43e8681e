import type { ErrorCode } from "../../src/diagnostics/error";
import type { FaultRule } from "../../src/emulator";

/** A way to cause an error that users can meet. */
export interface Provocation {
  readonly code: ErrorCode;
  /** Describes the situation, with the same words as the hint's case in src/diagnostics/hints.ts, if it has one. */
  readonly when: string;
  /** Causes the error and returns its message. */
  readonly provoke: () => Promise<string>;
}

const DETAILS: Readonly<Record<number, string>> = {
  302: "log in first",
  400: "malformed request",
  403: "permission instances.write is missing",
  404: "no such object",
  405: "method not allowed",
  412: "the object has a different revision",
  413: "the body exceeds 64 kB",
  422: "the instance is locked",
  429: "too many requests",
  503: "down for maintenance",
};

/** Returns a rule for a fault that lasts, with a realistic problem document. */
export function lasting(rule: FaultRule): FaultRule {
  const detail = DETAILS[rule.status ?? 0];
  const problem = detail === undefined ? rule.problem : { detail, ...rule.problem };
  return { times: Number.POSITIVE_INFINITY, ...rule, ...(problem && { problem }) };
}
