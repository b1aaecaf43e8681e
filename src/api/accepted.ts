import type { Operation } from "../polling/operation";
import { type ApiObject, badReply, parseObject } from "./objects";
import type { OperationReader } from "./operations";
import type { ApiReply } from "./request";

/** What a writing request brought: the object, an operation to wait for, or nothing to read. */
export type Accepted =
  | { readonly kind: "operation"; readonly operation: Operation }
  | ({ readonly kind: "object"; readonly object: ApiObject } & Deferrable)
  | ({ readonly kind: "none" } & Deferrable);

/** `deferred` is set after a 202 without an operation: the service does the work later, and only reading the object shows when. */
interface Deferrable {
  readonly deferred?: true;
}

function deferredBy({ status }: ApiReply): Deferrable {
  return status === 202 ? { deferred: true } : {};
}

/**
 * Tells an object from an operation by the Location and by what the body is like, not by the status alone: a project's POST may answer
 * with either (§1 and §4.2 disagree), and both have an id and perhaps a status.
 *
 * The replies to PUT and DELETE are not shown (§4.5, §4.8). A body with the id of the requested object is that object; one without
 * an id says only that the request was accepted, and a look at the object decides. An instance has a status, too, and may get another id
 * with another name. A body with an id and a status is thus an operation only in a 202 (§4.1) or beside an operation's Location.
 *
 * @param requested the id of the object that a PUT or DELETE is about
 */
export function parseAccepted(
  reply: ApiReply,
  operations: OperationReader,
  revisionField: string | undefined,
  requested?: string,
): Accepted {
  const body = fieldsOf(reply.json);
  const id = idOf(body);
  const namesOperation = reply.location !== undefined && /\/operations\/[^/]+\/?(\?|$)/.test(reply.location);
  const isStatusEnough = requested === undefined || reply.status === 202 || namesOperation;
  const isOperation =
    looksLikeOperation(body, isStatusEnough) && (requested === undefined || id !== requested);
  const namesNothing =
    requested !== undefined && id === undefined && (!isOperation || reply.location === undefined);
  if (reply.json === undefined || namesNothing) {
    const operation = namesOperation || reply.status === 202 ? operations.promised(reply) : undefined;
    return operation ? { kind: "operation", operation } : { kind: "none", ...deferredBy(reply) };
  }
  if (isOperation) {
    const operation = operations.read(reply);
    if (operation === undefined) throw badReply(reply, "the reply is an operation without an id or a status");
    return { kind: "operation", operation };
  }
  if (!namesOperation)
    return { kind: "object", object: parseObject(reply, revisionField), ...deferredBy(reply) };
  // The object itself beside the operation that is still at work on it.
  const operation = operations.promised(reply, id);
  if (operation === undefined)
    throw badReply(reply, `the Location "${reply.location}" leads away from the service`);
  return { kind: "operation", operation };
}

const OWN_TO_OPERATIONS = ["progress", "result_url", "started_at", "finished_at"];
const OPERATION_STATUSES = ["pending", "running", "done", "failed"];

function looksLikeOperation(body: Readonly<Record<string, unknown>>, isStatusEnough: boolean): boolean {
  // Projects and instances have a name (§2.1, §2.2), operations have none (§2.3).
  if ("name" in body) return false;
  if (OWN_TO_OPERATIONS.some((field) => field in body)) return true;
  return (
    isStatusEnough &&
    typeof body.status === "string" &&
    OPERATION_STATUSES.includes(body.status.toLowerCase())
  );
}

function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null ? { ...json } : {};
}

function idOf({ id }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}
