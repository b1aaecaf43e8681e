import * as v from "valibot";
import type { Behaviour } from "./behaviour";
import { type FaultRule, faultKinds } from "./faults";
import { normalizations } from "./normalization";

const word = v.pipe(v.string(), v.nonEmpty());
const flag = v.pipe(
  v.picklist(["true", "false"]),
  v.transform((value) => value === "true"),
);
const count = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number));
const positive = v.pipe(count, v.minValue(1));
const object = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()));
const list = v.pipe(
  v.string(),
  v.transform((text) => text.split(",").filter((one) => one !== "")),
);

/** The format of a switch on the command line. */
interface Setting {
  /** The possible values, such as `200|404|405`, `true|false` or `<text>`. */
  readonly allowed: string;
  readonly schema: v.GenericSchema<string, unknown>;
}

const oneOf = (...words: string[]): Setting => ({ allowed: words.join("|"), schema: v.picklist(words) });
const oneCode = (...codes: number[]): Setting => ({
  allowed: codes.join("|"),
  schema: v.pipe(count, v.picklist(codes)),
});
const someOf = (words: readonly string[]): Setting => ({
  allowed: `<some of ${words.join(",")}>`,
  schema: v.pipe(list, v.array(v.picklist(words))),
});
const yesOrNo: Setting = { allowed: "true|false", schema: flag };
const anyWord: Setting = { allowed: "<text>", schema: word };
const milliseconds: Setting = { allowed: "<milliseconds>", schema: count };
const origin: Setting = { allowed: "<origin, as http://host:port>", schema: v.pipe(v.string(), v.url()) };
const replies = oneOf("lists", "reads", "both");

/** The switches that `--behaviour` can set. `spelling` is missing, because its value is a function. */
export const behaviourSettings: Readonly<Record<Exclude<keyof Behaviour, "spelling">, Setting>> = {
  operationMs: milliseconds,
  progress: oneOf("linear", "bursts", "stuck", "absent"),
  retryAfter: { allowed: "<seconds>", schema: count },
  retryAfterForm: oneOf("seconds", "http-date", "asctime"),
  finishedAt: yesOrNo,
  operationKeptMs: milliseconds,
  operationKeptPolls: { allowed: "<polls>", schema: count },
  purgedStatus: oneCode(404, 410),
  failedStatus: anyWord,
  failedHasError: yesOrNo,
  failEvery: { allowed: "<operations, from 1>", schema: positive },
  failedCreation: oneOf("nothing", "object"),
  resultLink: oneOf("absolute", "relative", "early", "missing"),
  location: oneOf("absolute", "relative", "missing"),
  linkOrigin: origin,
  locationOrigin: origin,
  resultOrigin: origin,
  projectPost: oneCode(200, 201, 202),
  postIgnores: { allowed: "<fields, as labels,ssh_keys>", schema: list },
  putReply: oneCode(200, 204, 202),
  deleteObject: oneCode(204, 202, 200, 405),
  writeReply: oneOf("full", "slim"),
  acceptedReply: oneOf("operation", "location", "bare"),
  busyInstance: oneOf("accepted", "refused"),
  uniqueNames: yesOrNo,
  conflictDetail: anyWord,
  ids: oneOf("prefixed", "counter", "number", "slug", "uuid"),
  idReuse: yesOrNo,
  idsFollowNames: yesOrNo,
  getObject: oneCode(200, 404, 405),
  revision: oneOf("header", "body", "both", "weak", "none"),
  revisionOf: oneOf("changes", "shown"),
  revisionField: anyWord,
  ipField: oneOf("ip_address", "public_address", "public_ip"),
  publicIpShows: oneOf("mode", "null"),
  statusAfterCreate: anyWord,
  instanceVisible: oneOf("at-once", "when-done"),
  softDelete: anyWord,
  softDeleteMs: milliseconds,
  softDeleteIn: replies,
  unshown: { allowed: "<fields, as labels,ssh_keys>", schema: list },
  extraFields: { allowed: '<JSON object, as {"rack":"b7"}>', schema: object },
  normalize: someOf(normalizations),
  absentValues: oneOf("omitted", "null"),
  numbersAsText: yesOrNo,
  fractionalDates: yesOrNo,
  instanceLimit: oneOf("accepted", "refused"),
  pageSize: { allowed: "<items, from 1>", schema: positive },
  itemsWithout: { allowed: "<fields, as labels,ssh_keys>", schema: list },
  emptyItems: oneOf("list", "null", "absent"),
  lastCursor: oneOf("null", "absent", "empty"),
  lagMs: milliseconds,
  lagRequests: { allowed: "<requests>", schema: count },
  lagIn: replies,
  lagPart: oneOf("all", "fields", "objects"),
  cachedReplies: oneOf("all", "successes"),
  keyRetentionMs: milliseconds,
  keyReuseStatus: oneCode(422, 409, 400),
  keyReuseCode: anyWord,
  traceIds: oneOf("fresh", "constant", "zeros", "empty", "missing"),
  problemDetail: oneOf("text", "list", "missing", "long"),
  hiddenProjects: { allowed: "<names or ids, as shop,blog; *: all>", schema: list },
  readOnlyToken: yesOrNo,
  forbiddenStatus: oneCode(403, 404, 401),
};

const names = new Map<string, Setting>(Object.entries(behaviourSettings));

/** Parses the value of `--behaviour`, such as `getObject=405`. If the value is invalid, `error` contains the reason. */
export function parseBehaviourOption(text: string): { behaviour: Partial<Behaviour> } | { error: string } {
  const [, key = text, value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  return parseBehaviour(key, value);
}

/** Parses the value of a switch, such as `getObject` and `405`. If the value is invalid, `error` contains the reason. */
export function parseBehaviour(
  key: string,
  value: string,
): { behaviour: Partial<Behaviour> } | { error: string } {
  const setting = names.get(key);
  if (setting === undefined) return { error: `unknown switch "${key}"; ${suggestion(key)}` };
  const parsed = v.safeParse(setting.schema, value);
  if (parsed.success) return { behaviour: { [key]: parsed.output } };
  return { error: `${key} can't be "${value}". Use ${key}=${setting.allowed}` };
}

function suggestion(key: string): string {
  const all = [...names.keys()];
  const similar = all.find((name) => name.toLowerCase() === key.toLowerCase());
  return similar === undefined ? `the switches are: ${all.join(", ")}` : `did you mean "${similar}"?`;
}

const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(0));
const all = v.pipe(
  v.literal("all"),
  v.transform(() => Number.POSITIVE_INFINITY),
);
const rule = v.strictObject({
  kind: v.picklist(faultKinds),
  method: v.optional(v.string()),
  path: v.optional(v.string()),
  times: v.optional(v.union([wholeNumber, all])),
  after: v.optional(wholeNumber),
  status: v.optional(v.pipe(wholeNumber, v.minValue(200), v.maxValue(999))),
  body: v.optional(v.picklist(["html", "problem", "empty"])),
  retryAfter: v.optional(v.union([v.number(), v.string()])),
  location: v.optional(v.string()),
  problem: v.optional(v.looseObject({})),
  delayMs: v.optional(wholeNumber),
  cached: v.optional(v.boolean()),
});

/** Parses the value of `--fault`: a kind, or a rule as JSON. In a rule, `times` may be `"all"`. Returns `error` for an invalid value. */
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
