import type { Operation } from "../operations/operation";
import { type ApiObject, badReply, objectOf } from "./object";
import type { OperationReader } from "./operations";
import type { ApiReply } from "./request";

/** What a writing request brought: the object, an operation to wait for, or nothing to read. */
export type Accepted =
  | ({ readonly kind: "object"; readonly object: ApiObject } & Pending)
  | { readonly kind: "operation"; readonly operation: Operation }
  | ({ readonly kind: "none" } & Pending);

interface Pending {
  /** Whether the service has only accepted the request (202), and may carry it out later. */
  readonly pending?: boolean;
}

/**
 * Tells an object from an operation by the Location and by what the body is like, not by the status alone: a project's POST may answer
 * with either (§1 and §4.2 disagree), and both have an id and perhaps a status.
 */
export function acceptedOf(
  reply: ApiReply,
  operations: OperationReader,
  revisionField: string | undefined,
): Accepted {
  const namesOperation = reply.location !== undefined && /\/operations\/[^/]+\/?(\?|$)/.test(reply.location);
  if (reply.json === undefined) {
    const operation = namesOperation || reply.status === 202 ? operations.promised(reply) : undefined;
    return operation ? { kind: "operation", operation } : { kind: "none" };
  }
  const body = fieldsOf(reply.json);
  if (looksLikeOperation(body)) {
    const operation = operations.read(reply);
    if (operation === undefined) throw badReply(reply, "the reply is an operation without an id or a status");
    return { kind: "operation", operation };
  }
  if (!namesOperation) return { kind: "object", object: objectOf(reply, revisionField) };
  // The object itself beside the operation that is still at work on it.
  const operation = operations.promised(reply, typeof body.id === "string" ? body.id : undefined);
  if (operation === undefined)
    throw badReply(reply, `the Location "${reply.location}" leads away from the service`);
  return { kind: "operation", operation };
}

/**
 * What an update or a deletion brought. Their replies are not shown (§4.5, §4.8): a success whose body is neither an operation
 * nor an object says only that it was accepted, and a look at the object decides.
 */
export function settledOf(
  reply: ApiReply,
  operations: OperationReader,
  revisionField: string | undefined,
): Accepted {
  const { id } = fieldsOf(reply.json);
  const namesNothing =
    reply.json !== undefined &&
    reply.location === undefined &&
    typeof id !== "string" &&
    typeof id !== "number";
  const accepted: Accepted = namesNothing ? { kind: "none" } : acceptedOf(reply, operations, revisionField);
  return reply.status === 202 && accepted.kind !== "operation" ? { ...accepted, pending: true } : accepted;
}

const OWN_TO_OPERATIONS = ["progress", "result_url", "started_at", "finished_at"];
const OPERATION_STATUSES = ["pending", "running", "done", "failed"];

function looksLikeOperation(body: Readonly<Record<string, unknown>>): boolean {
  // Projects and instances have a name (§2.1, §2.2), operations have none (§2.3).
  if (typeof body.status !== "string" || "name" in body) return false;
  return (
    OWN_TO_OPERATIONS.some((field) => field in body) || OPERATION_STATUSES.includes(body.status.toLowerCase())
  );
}

function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null ? { ...json } : {};
}
