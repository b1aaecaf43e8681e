import * as v from "valibot";

/** One of a problem document's single faults: RFC 9457's example extension `errors`, and its like. */
export interface ProblemError {
  readonly detail?: string | undefined;
  /** JSON pointer into the request body: `/ssh_keys/0`. */
  readonly pointer?: string | undefined;
  /** Name or dotted path of a field, where there is no pointer. */
  readonly field?: string | undefined;
  readonly code?: string | undefined;
}

/** A problem document (§2.4, RFC 9457). Members of a wrong type are treated as missing. */
export interface Problem {
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly status?: number | undefined;
  readonly detail?: string | undefined;
  readonly instance?: string | undefined;
  readonly code?: string | undefined;
  readonly traceId?: string | undefined;
  /** Empty where the document names none. */
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
  reason: text,
  title: text,
  pointer: text,
  field: text,
  name: text,
  code: text,
});

/**
 * Reads a problem document out of a parsed body, whatever its content type. Bears wrong types, `message` for `detail`, a document
 * wrapped in `error`, and `errors` as a list of objects, a list of texts or a map from field to texts.
 *
 * @returns undefined where nothing in the body says anything about a problem
 */
export function parseProblem(body: unknown): Problem | undefined {
  const object = v.safeParse(record, body);
  if (!object.success || Array.isArray(body)) return undefined;
  const own = v.parse(members, object.output);
  const errors = parseErrors(
    object.output.errors ?? object.output["invalid-params"] ?? object.output.invalid_params,
  );
  const says = own.type ?? own.title ?? own.detail ?? own.message ?? own.code ?? own.trace_id;
  if (says === undefined && errors.length === 0) {
    const wrapped = v.safeParse(record, object.output.error);
    return wrapped.success && !("error" in wrapped.output) ? parseProblem(wrapped.output) : undefined;
  }
  const { message, trace_id, detail, ...same } = own;
  const extensions = Object.fromEntries(Object.entries(object.output).filter(([name]) => !MEMBERS.has(name)));
  return { ...same, detail: detail ?? message, traceId: trace_id, errors, extensions };
}

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
  const { detail, message, reason, title, pointer, field, name, code } = parsed.output;
  const one = { detail: detail ?? message ?? reason ?? title, pointer, field: field ?? name, code };
  return Object.values(one).some((member) => member !== undefined) ? [one] : [];
}
