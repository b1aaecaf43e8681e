import * as v from "valibot";
import type { FaultRule } from "./faults";
import { faultKinds } from "./request-log";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const rule = v.strictObject({
  kind: v.picklist(faultKinds),
  method: v.optional(v.string()),
  path: v.optional(v.string()),
  times: v.optional(
    v.union([
      count,
      v.pipe(
        v.literal("all"),
        v.transform(() => Number.POSITIVE_INFINITY),
      ),
    ]),
  ),
  after: v.optional(count),
  status: v.optional(v.pipe(count, v.minValue(200), v.maxValue(999))),
  body: v.optional(v.picklist(["html", "problem", "empty"])),
  retryAfter: v.optional(v.union([v.number(), v.string()])),
  location: v.optional(v.string()),
  problem: v.optional(v.looseObject({})),
  delayMs: v.optional(count),
  cached: v.optional(v.boolean()),
});

/**
 * Parses a fault of a command line: a kind, or the rule as a JSON object, in which `times` may be "all". If it is invalid,
 * `error` says why.
 */
export function parseFaultOption(text: string): { fault: FaultRule } | { error: string } {
  let value: unknown = { kind: text };
  if (text.startsWith("{")) {
    try {
      value = JSON.parse(text);
    } catch {
      return { error: `${text} is not JSON` };
    }
  }
  const parsed = v.safeParse(rule, value);
  if (parsed.success) {
    const given = Object.entries(parsed.output).filter(([, one]) => one !== undefined);
    return { fault: { kind: parsed.output.kind, ...Object.fromEntries(given) } };
  }
  const [issue] = parsed.issues;
  const member = v.getDotPath(issue);
  if (issue.type === "strict_object")
    return { error: `unknown member "${member}"; a rule can have: ${Object.keys(rule.entries).join(", ")}` };
  if (member === "kind") return { error: `the kind of fault must be one of ${faultKinds.join(", ")}` };
  return { error: `${member ?? "the rule"}: ${issue.message.replace(/^Invalid \w+: E/, "e")}` };
}
