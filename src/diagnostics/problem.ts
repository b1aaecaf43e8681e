import { STATUS_CODES } from "node:http";
import * as v from "valibot";

/** An item of the `errors` list in a problem document. */
export interface ProblemError {
  /** A description of the fault. */
  readonly detail?: string | undefined;
  /** A JSON pointer into the request body, such as `/ssh_keys/0`. */
  readonly pointer?: string | undefined;
  /** The name or dotted path of a field, if there is no pointer. */
  readonly field?: string | undefined;
  /** The code that the service assigns to this fault. */
  readonly code?: string | undefined;
}

/** A problem document (RFC 9457). Members with a wrong type are treated as missing. */
export interface Problem {
  /** The URI of the problem type. */
  readonly type?: string | undefined;
  /** A short summary of the problem type. */
  readonly title?: string | undefined;
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** A description of this occurrence of the problem. */
  readonly detail?: string | undefined;
  /** The URI of this occurrence of the problem. */
  readonly instance?: string | undefined;
  /** The code that the service assigns to this problem. */
  readonly code?: string | undefined;
  /** The trace id, with which the service's operators can find the request. */
  readonly traceId?: string | undefined;
  /** The listed faults, usually one for each property. The list may be empty. */
  readonly errors: readonly ProblemError[];
  /** All other members as received. */
  readonly extensions: { readonly [member: string]: unknown };
}

/** A string, or a number that is converted to a string. Some services return ids as numbers. */
export const textSchema = v.pipe(v.union([v.string(), v.pipe(v.number(), v.finite())]), v.transform(String));

/** A number, or a string that contains a number. */
export const numberSchema = v.union([v.number(), v.pipe(v.string(), v.nonEmpty(), v.transform(Number))]);

/** Treats an invalid value as missing. */
export const optional = <T>(schema: v.GenericSchema<unknown, T>) => v.fallback(v.optional(schema), undefined);

/** Parses a JSON text with a schema. */
export const json = <T>(schema: v.GenericSchema<unknown, T>) => v.pipe(v.string(), v.parseJson(), schema);

const text = optional(v.pipe(textSchema, v.nonEmpty()));
const httpStatus = optional(v.pipe(numberSchema, v.integer(), v.minValue(100)));
const record = v.record(v.string(), v.unknown());

const members = v.object({
  type: text,
  title: text,
  status: httpStatus,
  detail: text,
  message: text,
  instance: text,
  code: text,
  trace_id: text,
});
const MEMBERS = new Set([...Object.keys(members.entries), "errors"]);

const fault = v.object({
  detail: text,
  message: text,
  msg: text,
  reason: text,
  title: text,
  pointer: text,
  loc: optional(v.array(v.union([v.string(), v.number()]))),
  field: text,
  name: text,
  code: text,
});

/**
 * Parses a problem document from a body of any content type. Common variants are accepted, such as `message` instead of `detail`, or a
 * document inside `error`. `errors` or `detail` may be a list of objects, a list of strings, or a map from fields to strings.
 *
 * @returns undefined if the body doesn't describe a problem
 */
export function parseProblem(body: unknown): Problem | undefined {
  const object = v.safeParse(record, body);
  if (!object.success || Array.isArray(body)) return undefined;
  const all = object.output;
  const { message, trace_id, detail, ...own } = v.parse(members, all);
  const faults = all.errors ?? all["invalid-params"] ?? all.invalid_params;
  const errors = parseErrors(faults ?? (Array.isArray(all.detail) ? all.detail : undefined));
  const description = own.type ?? own.title ?? detail ?? message ?? own.code ?? trace_id;
  if (description === undefined && errors.length === 0) return wrappedProblem(all);
  const extensions = Object.fromEntries(Object.entries(all).filter(([name]) => !MEMBERS.has(name)));
  return { ...own, detail: detail ?? message, traceId: trace_id, errors, extensions };
}

/** Parses a problem document inside `error` or `detail`. A string that only repeats the status text is ignored. */
function wrappedProblem({ error, detail }: Problem["extensions"]): Problem | undefined {
  if (typeof error === "string" && error !== "" && !REASON_PHRASES.has(error))
    return { detail: error, errors: [], extensions: {} };
  const inner = v.safeParse(record, error ?? detail);
  return inner.success && !("error" in inner.output) ? parseProblem(inner.output) : undefined;
}

const REASON_PHRASES: ReadonlySet<string | undefined> = new Set(Object.values(STATUS_CODES));

function parseErrors(errors: unknown): ProblemError[] {
  if (Array.isArray(errors)) return errors.flatMap(parseFault);
  const byField = v.safeParse(record, errors);
  if (!byField.success) return [];
  return Object.entries(byField.output).flatMap(([field, faults]) =>
    [faults]
      .flat()
      .flatMap(parseFault)
      .map((one) => ({ ...one, field: one.field ?? field })),
  );
}

function parseFault(input: unknown): ProblemError[] {
  if (typeof input === "string") return input === "" ? [] : [{ detail: input }];
  const parsed = v.safeParse(fault, input);
  if (!parsed.success) return [];
  const { detail, message, msg, reason, title, pointer, loc, field, name, code } = parsed.output;
  const one = {
    detail: detail ?? message ?? msg ?? reason ?? title,
    pointer: pointer ?? (loc && pointerOf(loc)),
    field: field ?? name,
    code,
  };
  return Object.values(one).some((member) => member !== undefined) ? [one] : [];
}

/** Converts a path such as `["body", "ssh_keys", 0]` to a JSON pointer. */
function pointerOf(path: readonly (string | number)[]): string | undefined {
  const inBody = path[0] === "body" ? path.slice(1) : path;
  const segments = inBody.map((segment) => String(segment).replaceAll("~", "~0").replaceAll("/", "~1"));
  return segments.length === 0 ? undefined : `/${segments.join("/")}`;
}

/** Returns the path of a faulty property as programs write it: `/ssh_keys/0` becomes `sshKeys[0]`. */
export function propertyPath(fault: ProblemError, propertyOf: (wireField: string) => string) {
  const [first, ...rest] =
    fault.pointer === undefined ? fieldSegments(fault.field) : pointerSegments(fault.pointer);
  if (first === undefined) return undefined;
  return rest.reduce((path, segment) => path + accessor(segment), propertyOf(first));
}

function pointerSegments(pointer: string): string[] {
  const fromFragment = pointer.startsWith("#") ? percentDecoded(pointer.slice(1)) : pointer;
  return fromFragment
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))
    .filter((segment, index) => index > 0 || segment !== "");
}

function fieldSegments(field: string | undefined): string[] {
  return (field ?? "").split(/[.[\]]/).filter((segment) => segment !== "" && segment !== "$");
}

/** Returns the code that accesses a member of a property: `.name`, `["a.b"]` or `[0]`. */
export function accessor(segment: string): string {
  if (/^\d+$/.test(segment)) return `[${segment}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
}

/** Decodes percent-encoding. If the encoding is invalid, returns the text unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
