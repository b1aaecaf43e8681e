import * as v from "valibot";
import { type Problem, parseProblem } from "../diagnostics/problem";
import { isTerminal, type Operation } from "../polling/operation";
import { redactJson } from "./body";
import type { Endpoint } from "./endpoint";
import { pathOf, readLink } from "./endpoint";
import { badReply } from "./objects";
import type { ApiReply, CallOptions, Send } from "./request";
import { type OperationBody, operationSchema } from "./schema";

/** Long-running operations (§2.3, §4.6). */
export interface Operations {
  /** One look at an operation. Throws `not_found` where its address answers 404 or 410. */
  poll(operation: Operation, options: CallOptions): Promise<Operation>;
  /** One look at an operation of which only the id is known. */
  get(id: string, options: CallOptions): Promise<Operation>;
}

export interface OperationReader {
  /** An operation out of a reply's body and Location; undefined where the body is none. */
  read(reply: ApiReply): Operation | undefined;
  /** An operation of which only the Location is known; undefined where that names none. */
  promised(reply: ApiReply, resource?: string): Operation | undefined;
}

export function createOperations(
  send: Send,
  endpoint: Endpoint,
  redact: (text: string) => string,
): Operations & OperationReader {
  async function look(url: string, id: string, options: CallOptions): Promise<Operation> {
    const reply = await send({ method: "GET", path: url, needsBody: true }, options);
    const body = v.safeParse(operationSchema, reply.json);
    if (!body.success) throw badReply(reply, `the address of operation ${id} answers with something else`);
    const named = readLink(url, url, endpoint).collection === "operations";
    if (named && body.output.id !== undefined && body.output.id !== id) {
      throw badReply(reply, `the address of operation ${id} answers with ${body.output.id}`);
    }
    return toOperation(body.output, id, url, reply);
  }

  function toOperation(body: OperationBody, id: string, url: string, reply: ApiReply): Operation {
    const { status, progress, result_url: resultUrl, started_at: startedAt, finished_at: finishedAt } = body;
    const seen = {
      id,
      url,
      status,
      progress,
      resultUrl,
      startedAt,
      finishedAt,
      retryAfterMs: reply.retryAfterMs,
    };
    // What §2.3 doesn't name may be a kind or a state while the operation is still running.
    const named = body.resource_id ?? (isTerminal(seen) ? (body.resource ?? body.result) : undefined);
    return { ...seen, error: problemOf(body.error, redact), resource: named ?? resultIdOf(seen, endpoint) };
  }

  /** Where the Location says to poll, unless it is an object's own. Only below /operations is its last segment surely the id. */
  function addressOf(
    { location, url: from }: ApiReply,
    bodyId?: string,
  ): { url: string; id: string } | undefined {
    const named = location === undefined ? undefined : readLink(location, from, endpoint);
    const link = named?.collection === "projects" || named?.collection === "instances" ? undefined : named;
    const id = link?.collection === "operations" ? link.id : (bodyId ?? link?.id);
    if (id === undefined) return undefined;
    if (link?.url !== undefined) return { url: link.url, id };
    return bodyId === undefined ? undefined : { url: endpoint.base + pathOf("operations", bodyId), id };
  }

  return {
    get: (id, options) => look(endpoint.base + pathOf("operations", id), id, options),
    poll({ id, url }, options) {
      // An address may come from a file written for another endpoint.
      const known = readLink(url, endpoint.base, endpoint).url ?? endpoint.base + pathOf("operations", id);
      return look(known, id, options);
    },
    read(reply) {
      const body = v.safeParse(operationSchema, reply.json);
      if (!body.success) return undefined;
      const address = addressOf(reply, body.output.id);
      return address && toOperation(body.output, address.id, address.url, reply);
    },
    promised(reply, resource) {
      const address = addressOf(reply);
      return address && { ...address, status: "pending", resource, retryAfterMs: reply.retryAfterMs };
    },
  };
}

/** The object an operation is about, out of its link or its fields. */
export function resultIdOf(operation: Operation, endpoint: Endpoint): string | undefined {
  const { resultUrl, url, resource } = operation;
  if (resultUrl === undefined) return resource;
  const link = readLink(resultUrl, url, endpoint);
  return link.collection === undefined || link.collection === "operations" ? resource : link.id;
}

/** An `error` that says anything at all: a problem document, or whatever else was put there. */
function problemOf(error: unknown, redact: (text: string) => string): Problem | undefined {
  if (isBlank(error)) return undefined;
  const cleaned = redactJson(error, redact);
  return parseProblem(cleaned) ?? { detail: asText(cleaned), errors: [], extensions: {} };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Nothing, or a document of nothing but empty members, as some languages write "no error". */
function isBlank(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isBlank);
  return value === undefined || value === null || value === false || value === "" || value === 0;
}
