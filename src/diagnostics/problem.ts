import { STATUS_CODES } from "node:http";
import * as v from "valibot";

/** One of several faults that a problem document lists. */
export interface ProblemError {
  /** What is wrong. */
  readonly detail?: string | undefined;
  /** JSON pointer into the request body, such as `/ssh_keys/0`. */
  readonly pointer?: string | undefined;
  /** Name or dotted path of a field, if there is no pointer. */
  readonly field?: string | undefined;
  /** The service's code of the fault. */
  readonly code?: string | undefined;
}

/** A problem document (RFC 9457). Members of a wrong type are treated as missing. */
export interface Problem {
  /** URI of the kind of problem. */
  readonly type?: string | undefined;
  /** A short summary of the kind of problem. */
  readonly title?: string | undefined;
  /** HTTP status. */
  readonly status?: number | undefined;
  /** What is wrong in this case. */
  readonly detail?: string | undefined;
  /** URI of this occurrence. */
  readonly instance?: string | undefined;
  /** The service's code of the problem. */
  readonly code?: string | undefined;
  /** The service's trace id, for its operators. */
  readonly traceId?: string | undefined;
  /** The single faults. Empty if the document lists none. */
  readonly errors: readonly ProblemError[];
  /** Every other member, as received. */
  readonly extensions: Readonly<Record<string, unknown>>;
}

const text = v.fallback(
  v.optional(
    v.union([
      v.pipe(v.string(), v.minLength(1)),
      v.pipe(
        v.number(),
        v.finite(),
        v.transform((number) => String(number)),
      ),
    ]),
  ),
  undefined,
);
const httpStatus = v.fallback(
  v.optional(
    v.pipe(
      v.union([v.number(), v.pipe(v.string(), v.nonEmpty(), v.transform(Number))]),
      v.integer(),
      v.minValue(100),
    ),
  ),
  undefined,
);
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
  loc: v.fallback(v.optional(v.array(v.union([v.string(), v.number()]))), undefined),
  field: text,
  name: text,
  code: text,
});

/**
 * Reads a problem document out of a parsed body, whatever its content type. Bears wrong types, `message` for `detail`, a document
 * wrapped in `error` or `detail`, an `error` that is a string, and `errors` or `detail` as a list of objects, a list of strings or a map
 * from field to strings.
 *
 * @returns undefined where nothing in the body says anything about a problem
 */
export function parseProblem(body: unknown): Problem | undefined {
  const object = v.safeParse(record, body);
  if (!object.success || Array.isArray(body)) return undefined;
  const all = object.output;
  const { message, trace_id, detail, ...own } = v.parse(members, all);
  const faults = all.errors ?? all["invalid-params"] ?? all.invalid_params;
  const errors = parseErrors(faults ?? (Array.isArray(all.detail) ? all.detail : undefined));
  const says = own.type ?? own.title ?? detail ?? message ?? own.code ?? trace_id;
  if (says === undefined && errors.length === 0) return wrappedProblem(all);
  const extensions = Object.fromEntries(Object.entries(all).filter(([name]) => !MEMBERS.has(name)));
  return { ...own, detail: detail ?? message, traceId: trace_id, errors, extensions };
}

/** What stands in `error` or `detail` instead of beside it. A bare reason phrase says no more than the status. */
function wrappedProblem({ error, detail }: Readonly<Record<string, unknown>>): Problem | undefined {
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
    (Array.isArray(faults) ? faults : [faults])
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

/** The JSON pointer of a path in the form `["body", "ssh_keys", 0]`. */
function pointerOf(path: readonly (string | number)[]): string | undefined {
  const [first, ...rest] = path.map((segment) => String(segment).replaceAll("~", "~0").replaceAll("/", "~1"));
  const inBody = first === "body" ? rest : [first, ...rest];
  return path.length === 0 || inBody.length === 0 ? undefined : `/${inBody.join("/")}`;
}
