import * as v from "valibot";
import { numberSchema, optional, type Problem, parseProblem } from "../diagnostics/problem";
import { isTerminal, type Operation } from "../polling/wait";
import { type JsonObject, redactJson } from "./body";
import { type Endpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, badReply, comparableId, idSchema, parseObject, revisionOf } from "./objects";
import type { ApiReply, CallOptions, Send } from "./request";

/** An ISO 8601 date. Invalid dates and zero times, such as the year 1, are treated as missing. */
const date = optional(
  v.pipe(
    v.string(),
    v.check((text) => Date.parse(text) > 0),
  ),
);

const fraction = optional(
  v.pipe(
    numberSchema,
    v.finite(),
    v.transform((number) => Math.min(1, Math.max(0, number))),
  ),
);

const objectId = v.pipe(
  v.object({ id: idSchema }),
  v.transform(({ id }) => id),
);

/** The schema of a bare id. A string without a digit is probably a status, a type or a name, and a string with a slash is a path. */
const bareId = v.pipe(idSchema, v.regex(/^[^\s/]*\d[^\s/]*$/));

/** The schema of a reference: the id of an object, or an object with an id. */
const reference = optional(v.union([bareId, objectId]));

const operationSchema = v.looseObject({
  id: optional(idSchema),
  status: v.pipe(v.string(), v.nonEmpty()),
  progress: fraction,
  result_url: optional(v.pipe(v.string(), v.nonEmpty())),
  error: v.optional(v.unknown()),
  started_at: date,
  finished_at: date,
  resource_id: optional(idSchema),
  resource: reference,
  result: reference,
});

type OperationBody = v.InferOutput<typeof operationSchema>;

export type Operations = ReturnType<typeof createOperations>;

/** Creates the functions that read long-running operations (§2.3, §4.6), and that find operations in the replies to other requests. */
export function createOperations(send: Send, endpoint: Endpoint, redact: (text: string) => string) {
  function toOperation(body: OperationBody, id: string, url: string, reply: ApiReply): Operation {
    const { status, progress, result_url: resultUrl, started_at: startedAt, finished_at: finishedAt } = body;
    const { retryAfterMs } = reply;
    const operation = { id, url, status, progress, resultUrl, startedAt, finishedAt, retryAfterMs };
    // The specification doesn't define `resource` and `result` (§2.3). In a running operation, both fields may contain a type or a status.
    const resource = body.resource_id ?? (isTerminal(operation) ? (body.resource ?? body.result) : undefined);
    return {
      ...operation,
      error: problemOf(body.error, redact),
      resource: resource ?? resultIdOf(operation, endpoint),
    };
  }

  /** Returns the URL and the id of an operation. The last segment of a Location is the id only if the path contains /operations. */
  function addressOf({ location, url: from }: ApiReply, bodyId?: string) {
    const named = location === undefined ? undefined : readLink(location, from, endpoint);
    const link = named?.collection === "projects" || named?.collection === "instances" ? undefined : named;
    const id = link?.collection === "operations" ? link.id : (bodyId ?? link?.id);
    if (id === undefined) return undefined;
    if (link?.url !== undefined) return { url: link.url, id };
    return bodyId === undefined ? undefined : { url: endpoint.base + pathOf("operations", bodyId), id };
  }

  return {
    /** Reads an operation. Throws `not_found` after 404 or 410. */
    async poll(operation: Pick<Operation, "id" | "url">, options: CallOptions): Promise<Operation> {
      const { id } = operation;
      // The URL may come from a state or a journal that was written for a different endpoint.
      const link = readLink(operation.url, endpoint.base, endpoint);
      const url = link.url ?? endpoint.base + pathOf("operations", id);
      const reply = await send({ method: "GET", path: url, needsBody: true }, options);
      const body = v.safeParse(operationSchema, reply.json);
      if (!body.success) throw badReply(reply, `the reply isn't an operation; expected operation ${id}`);
      const returned = body.output.id ?? id;
      const isNamed = readLink(url, url, endpoint).collection === "operations";
      if (isNamed && comparableId(returned) !== comparableId(id))
        throw badReply(reply, `the service returned operation ${returned} instead of ${id}`);
      return toOperation(body.output, id, url, reply);
    },
    /** Returns the operation in the body, or `undefined` if the body contains no operation. */
    read(reply: ApiReply): Operation | undefined {
      const body = v.safeParse(operationSchema, reply.json);
      if (!body.success) return undefined;
      const address = addressOf(reply, body.output.id);
      return address && toOperation(body.output, address.id, address.url, reply);
    },
    /** Returns the operation in the Location header, or `undefined` if the header is missing. */
    promised(reply: ApiReply, resource?: string): Operation | undefined {
      const address = addressOf(reply);
      return address && { ...address, status: "pending", resource, retryAfterMs: reply.retryAfterMs };
    },
    /** Parses an error inside a successful reply. Returns `undefined` if the error is empty. */
    problemOf: (error: unknown) => problemOf(error, redact),
  };
}

/** Returns the id of the object that an operation creates or changes. The id comes from the operation's link or fields. */
export function resultIdOf(operation: Operation, endpoint: Endpoint): string | undefined {
  const { resultUrl, url, resource } = operation;
  if (resultUrl === undefined) return resource;
  const link = readLink(resultUrl, url, endpoint);
  return link.collection === undefined || link.collection === "operations" ? resource : link.id;
}

function problemOf(error: unknown, redact: (text: string) => string): Problem | undefined {
  if (isBlank(error)) return undefined;
  const cleaned = redactJson(error, redact);
  const detail = typeof cleaned === "string" ? cleaned : JSON.stringify(cleaned);
  return parseProblem(cleaned) ?? { detail, errors: [], extensions: {} };
}

/** Reports whether a value is empty or has only empty members. Some services return an empty error after a success. */
function isBlank(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isBlank);
  return value === undefined || value === null || value === false || value === "" || value === 0;
}

/**
 * The reply of a service to a POST, PUT or DELETE: an object, an operation to wait for, or nothing except perhaps the new revision.
 * `deferred` means that the service returned 202 without an operation. The provider then reads the object until the change is applied.
 */
export type Accepted =
  | { readonly kind: "operation"; readonly operation: Operation }
  | { readonly kind: "object"; readonly object: ApiObject; readonly deferred?: true }
  | { readonly kind: "none"; readonly deferred?: true; readonly revision?: string | undefined };

/**
 * Parses the reply to a POST, PUT or DELETE. The Location and the body determine whether the reply is an object or an operation. The status
 * isn't sufficient, because the creation of a project may return an object or an operation (§1 and §4.2 contradict each other).
 *
 * The specification doesn't define the replies to PUT and DELETE (§4.5, §4.8). A body with the requested id is the object. A body without
 * an id only confirms the request. A body with a different id may be a renamed instance. Such a body is an operation only in a 202 reply
 * (§4.1) or with an operation's Location.
 *
 * @param requested the id of the object to update or delete
 */
export function parseAccepted(
  reply: ApiReply,
  operations: Operations,
  revisionField: string | undefined,
  requested?: string,
): Accepted {
  const body: JsonObject = typeof reply.json === "object" && reply.json !== null ? { ...reply.json } : {};
  const id = typeof body.id === "string" || typeof body.id === "number" ? String(body.id) : undefined;
  const deferrable = reply.status === 202 ? ({ deferred: true } as const) : {};
  const namesOperation = reply.location !== undefined && /\/operations\/[^/]+\/?(\?|$)/.test(reply.location);
  const isStatusEnough = requested === undefined || reply.status === 202 || namesOperation;
  const isOperation =
    looksLikeOperation(body, isStatusEnough) && (requested === undefined || id !== requested);
  const isAnonymous =
    requested !== undefined && id === undefined && (!isOperation || reply.location === undefined);
  if (reply.json === undefined || isAnonymous) {
    const operation = namesOperation || reply.status === 202 ? operations.promised(reply) : undefined;
    if (operation !== undefined) return { kind: "operation", operation };
    return { kind: "none", ...deferrable, revision: revisionOf(body, reply.etag, revisionField).revision };
  }
  if (isOperation) {
    const operation = operations.read(reply);
    if (operation === undefined) throw badReply(reply, "the reply is an operation without an id or a status");
    return { kind: "operation", operation };
  }
  if (!namesOperation) return { kind: "object", object: parseObject(reply, revisionField), ...deferrable };
  // The body contains the object, and the Location points to the operation that is still running.
  const operation = operations.promised(reply, id);
  if (operation === undefined)
    throw badReply(reply, `the Location header "${reply.location}" points to a different origin`);
  return { kind: "operation", operation };
}

const OPERATION_FIELDS = ["progress", "result_url", "started_at", "finished_at"];
const OPERATION_STATUSES = ["pending", "running", "done", "failed"];
/** The fields, besides the name, that every creation request of a project or an instance sets (§2.1, §2.2). */
const OBJECT_FIELDS = ["region", "image", "flavor", "network"];

function looksLikeOperation(body: JsonObject, isStatusEnough: boolean): boolean {
  const has = (field: string): boolean => field in body;
  // Operations may have a name, although the specification doesn't list one (§2.3).
  const isNamed = typeof body.name === "string";
  if (isNamed && OBJECT_FIELDS.some(has) && !has("result_url")) return false;
  if (OPERATION_FIELDS.some(has)) return true;
  if (!isStatusEnough || isNamed || typeof body.status !== "string") return false;
  return OPERATION_STATUSES.includes(body.status.toLowerCase());
}
