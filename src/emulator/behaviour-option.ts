import * as v from "valibot";
import type { Behaviour } from "./behaviour";

const word = v.pipe(v.string(), v.nonEmpty());
const flag = v.pipe(
  v.picklist(["true", "false"]),
  v.transform((value) => value === "true"),
);
const count = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number));
const positive = v.pipe(count, v.minValue(1));
const code = <const T extends readonly [number, ...number[]]>(...codes: T) =>
  v.pipe(count, v.picklist(codes));
const object = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()));

interface Setting {
  /** What may be written, in words: `200|404|405`, `true|false`, `<text>`. */
  readonly allowed: string;
  readonly schema: v.GenericSchema<string, unknown>;
}

const oneOf = (...words: string[]): Setting => ({ allowed: words.join("|"), schema: v.picklist(words) });
const oneCode = (...codes: [number, ...number[]]): Setting => ({
  allowed: codes.join("|"),
  schema: code(...codes),
});
const yesOrNo: Setting = { allowed: "true|false", schema: flag };
const anyWord: Setting = { allowed: "<text>", schema: word };

/** Every switch of `Behaviour` that a text can set, for a command line. */
export const behaviourSettings: Readonly<Record<Exclude<keyof Behaviour, "spelling">, Setting>> = {
  operationMs: { allowed: "<milliseconds>", schema: count },
  progress: oneOf("linear", "bursts", "stuck", "absent"),
  retryAfter: { allowed: "<seconds>", schema: count },
  resultLink: oneOf("absolute", "relative", "early", "missing"),
  location: oneOf("absolute", "relative", "missing"),
  linkOrigin: { allowed: "<origin, as http://host:port>", schema: v.pipe(v.string(), v.url()) },
  getObject: oneCode(200, 404, 405),
  deleteObject: oneCode(204, 202, 405),
  revision: oneOf("header", "body", "both", "weak", "none"),
  revisionField: anyWord,
  putReply: oneCode(200, 204, 202),
  projectPost: oneCode(200, 201, 202),
  failedStatus: anyWord,
  failedHasError: yesOrNo,
  finishedAt: yesOrNo,
  fractionalDates: yesOrNo,
  instanceLimit: oneOf("accepted", "refused"),
  pageSize: { allowed: "<items, from 1>", schema: positive },
  ipField: oneOf("ip_address", "public_address", "public_ip"),
  statusAfterCreate: anyWord,
  instanceVisible: oneOf("at-once", "when-done"),
  uniqueNames: yesOrNo,
  cachedReplies: oneOf("all", "successes"),
  extraFields: { allowed: '<JSON object, as {"rack":"b7"}>', schema: object },
};

const names = new Map<string, Setting>(Object.entries(behaviourSettings));

/**
 * One `key=value` of a command line as a behaviour with that switch set.
 * A key or value that is not known gives an `error` that lists what is.
 */
export function parseBehaviourOption(text: string): { behaviour: Partial<Behaviour> } | { error: string } {
  const [, key = text, value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const setting = names.get(key);
  if (setting === undefined)
    return { error: `"${key}" is no switch; there are: ${[...names.keys()].join(", ")}` };
  const parsed = v.safeParse(setting.schema, value);
  if (parsed.success) return { behaviour: { [key]: parsed.output } };
  return { error: `${key} can't be "${value}"; write ${key}=${setting.allowed}` };
}
