import * as v from "valibot";
import type { Behaviour } from "./behaviour";
import { invalid, type ProblemDetail, type Refusal } from "./problems";
import type { EmulatorRequest } from "./request";

const readOnly = new Set(["id", "status", "created_at", "updated_at", "url", "ip_address", "public_address"]);

const text = (field: string, longest = 255) =>
  v.pipe(
    v.string(`${field} must be a string`),
    v.nonEmpty(`${field} must not be empty`),
    v.maxLength(longest, `${field} must not be longer than ${longest}`),
  );

/** The specification defines no catalog (§2.2), so every value exists unless it begins with `unknown-` or `nope`. */
const catalogued = (field: string) =>
  v.pipe(
    text(field),
    v.check(
      (value) => !/^(unknown-|nope)/.test(value),
      (issue) => `${field} '${issue.input}' does not exist`,
    ),
  );

const sshKey = v.pipe(text("an SSH key", 16_384), v.regex(/^[^\r\n]+$/, "an SSH key must be a single line"));

const projectEntries = {
  name: text("name"),
  region: catalogued("region"),
  description: v.optional(v.string("description must be a string")),
};

/** Unlike `v.record`, a map also accepts keys such as `constructor` and `__proto__`. */
const labels = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null, "labels must be an object"),
  v.transform((value) => new Map<string, unknown>(Object.entries(value))),
  v.map(text("a label key"), v.string("a label must be a string")),
  v.transform((all): Record<string, string> => Object.fromEntries(all)),
);

const updateEntries = {
  project: v.optional(text("project")),
  name: text("name"),
  image: v.optional(catalogued("image")),
  flavor: catalogued("flavor"),
  network: catalogued("network"),
  public_ip: v.optional(catalogued("public_ip")),
  ssh_keys: v.optional(v.array(sshKey, "ssh_keys must be an array")),
  labels: v.optional(labels),
};

const wrongShape = (issue: v.ObjectIssue) => `${String(issue.path?.[0]?.key)} is missing`;

/** The maximum number of reported errors, because a body could contain a million errors. */
const mostErrors = 50;

/** The schema of the body of POST /v1/projects (§2.1). */
export const projectBody = v.object(projectEntries, wrongShape);

/** The schema of the body of PUT /v1/instances/{id}. Fields that can't be changed in place are optional. */
export const instanceUpdateBody = v.object(updateEntries, wrongShape);

/** The schema of the body of POST /v1/instances (§2.2). */
export const instanceBody = v.object(
  { ...updateEntries, project: text("project"), image: catalogued("image") },
  wrongShape,
);

type BodySchema<T> = v.GenericSchema<unknown, T> & { readonly entries: Readonly<Record<string, unknown>> };

/** Parses a body. Rejects an invalid format with 415 or 400, and invalid content with 422. */
export function parseRequestBody<T>(
  request: EmulatorRequest,
  schema: BodySchema<T>,
  behaviour: Behaviour,
): { fields: T } | Refusal {
  if (!/^application\/([\w.-]+\+)?json\b/i.test(request.headers["content-type"] ?? "")) {
    return { status: 415, code: "unsupported_media_type", detail: "send the body as application/json" };
  }
  let json: unknown;
  try {
    json = JSON.parse(request.body);
  } catch {
    return { status: 400, code: "malformed_json", detail: "the body is not JSON" };
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return invalid([{ pointer: "", detail: "the body must be a JSON object" }]);
  }
  const body = fromWire(json, behaviour);
  const parsed = v.safeParse(schema, body);
  const errors: ProblemDetail[] = (parsed.issues ?? []).map((issue) => ({
    pointer: pointerTo(issue.path?.map((part) => String(part.key)) ?? []),
    detail: issue.message,
  }));
  const unexpected = Object.keys(body).filter((field) => !Object.hasOwn(schema.entries, field));
  for (const field of unexpected)
    errors.push(unexpectedField(field, readOnly.has(field) || field === behaviour.revisionField));
  if (parsed.success && errors.length === 0) return { fields: parsed.output };
  const readOnlyError = errors.find((error) => error.code === "read_only_field");
  const rejection = invalid(errors.slice(0, mostErrors));
  return readOnlyError ? { ...rejection, code: "read_only_field", detail: readOnlyError.detail } : rejection;
}

/** Converts values from the form in replies, because requests may also contain that form. */
function fromWire(json: object, { ids, absentValues, normalize }: Behaviour): object {
  const body: Record<string, unknown> = { ...json };
  if (absentValues === "null") {
    for (const [name, value] of Object.entries(body)) if (value === null) delete body[name];
  }
  if (ids === "number" && typeof body.project === "number") body.project = String(body.project);
  if (normalize.includes("numeric-labels") && typeof body.labels === "object" && body.labels !== null) {
    const labels = Object.entries(body.labels);
    body.labels = Object.fromEntries(
      labels.map(([key, value]) => [key, typeof value === "number" ? String(value) : value]),
    );
  }
  return body;
}

function unexpectedField(field: string, isReadOnly: boolean): ProblemDetail {
  const pointer = pointerTo([field]);
  return isReadOnly
    ? { pointer, detail: `${field} is set by the service`, code: "read_only_field" }
    : { pointer, detail: `${field} is not known`, code: "unknown_field" };
}

function pointerTo(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
