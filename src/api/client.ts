import * as v from "valibot";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { textSchema } from "../diagnostics/problem";
import { type Operation, summarizeOperation } from "../polling/wait";
import { createAuth, type TokenSource } from "./auth";
import type { JsonObject } from "./body";
import { parseEndpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, badReply, objectSchema, parseObject, toObject } from "./objects";
import { type Accepted, createOperations, type Operations, parseAccepted, resultIdOf } from "./operations";
import { createRateLimiter, type RateLimits } from "./rate-limiter";
import {
  type ApiReply,
  type ApiRequest,
  type CallOptions,
  createSend,
  type Send,
  type SendOptions,
} from "./request";

export type { ApiObject } from "./objects";
export type { Accepted } from "./operations";
export type { CallOptions } from "./request";

export interface ClientOptions extends RateLimits, SendOptions {
  /** The base URL of the service, with or without `/v1` and a trailing slash. */
  endpoint: string;
  /** The source of `endpoint` as shown in messages. @default "the setting cloudinfra:endpoint" */
  endpointSetting?: string | undefined;
  token: TokenSource;
  /** The field that contains the revision of an object. @default the ETag header, or else a field with a common name */
  revisionField?: string | undefined;
  /** Whether plain HTTP connections to other machines are allowed. @default false */
  allowHttp?: boolean | undefined;
}

/** A client of the service. Each call ends by its deadline. A failed call throws a CloudInfraError. */
export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client for one endpoint and one token source, without sending a request.
 *
 * @throws CloudInfraError `config_invalid` if an option is invalid
 */
export function createClient(options: ClientOptions) {
  const { allowHttp, endpointSetting: setting, revisionField } = options;
  const limits = createRateLimiter(options);
  const endpoint = parseEndpoint(options.endpoint, { allowHttp, setting });
  const auth = createAuth(options.token, options.clock);
  const send = createSend({ ...options, endpoint, auth, limits });
  const operations = createOperations(send, endpoint, auth.redact);
  return {
    /** The normalized base URL, which ends in `/v1`. */
    endpoint: endpoint.base,
    /** The most recent tokens. Messages must not contain these tokens, although replies may contain them. */
    tokens: auth.used,
    tokenOrigin: auth.origin,
    /**
     * Sends a GET, for `probe`.
     *
     * @param request.path a percent-encoded path below the endpoint, or a whole URL with the endpoint's origin
     */
    get: (request: Pick<ApiRequest, "path" | "query" | "token">, call: CallOptions) =>
      send({ ...request, method: "GET" }, call),
    ...createCollections(send, operations, revisionField),
    operations: { poll: operations.poll },
    /** Returns the id of the object that an operation creates or changes, or `undefined` if the operation contains no id. */
    resultId: (operation: Operation) => resultIdOf(operation, endpoint),
    /**
     * Reads the object that a finished operation links to.
     *
     * @throws CloudInfraError `no_result` if there is no link to this service; `not_found` or `unsupported` if the service returns no object
     */
    async readResult(operation: Operation, call: CallOptions): Promise<ApiObject> {
      const url = operation.resultUrl && readLink(operation.resultUrl, operation.url, endpoint).url;
      if (!url) {
        const message = `operation ${operation.id} has no link to its result`;
        throw new CloudInfraError("no_result", message, {
          operation: summarizeOperation(operation),
          resultId: operation.resource,
        });
      }
      const reply = await send({ method: "GET", path: url, needsBody: true }, call);
      const object = parseObject(reply, revisionField, resultIdOf(operation, endpoint));
      const ownPaths = [pathOf("projects", object.id), pathOf("instances", object.id)];
      return { ...object, isFromOwnUrl: ownPaths.some((path) => url === endpoint.base + path) };
    },
  };
}

/** The maximum page size that the API documents (§8). */
const PAGE_LIMIT = "200";

interface InstanceFilter {
  project?: string | undefined;
  status?: string | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
}

type Query = Readonly<Record<string, string | undefined>>;

function createCollections(send: Send, operations: Operations, revisionField: string | undefined) {
  const collection = (name: "projects" | "instances") => ({
    /**
     * Sends a POST.
     *
     * @param body JSON, sent unchanged in every attempt
     * @param key the idempotency key, a UUID v4 (§4.7)
     * @param options.isKeyExpired see `ApiRequest`
     */
    async create(
      body: string,
      key: string,
      { isKeyExpired, ...options }: CallOptions & Pick<ApiRequest, "isKeyExpired">,
    ): Promise<Exclude<Accepted, { kind: "none" }>> {
      const request = { method: "POST", path: pathOf(name), body, idempotencyKey: key } as const;
      const reply = await send({ ...request, isKeyExpired, needsBody: true, collection: true }, options);
      const accepted = parseAccepted(reply, operations, revisionField);
      if (accepted.kind !== "none") return accepted;
      throw badReply(
        reply,
        "the service accepted the request but returned neither an operation nor an object",
      );
    },
    /**
     * Reads one object with a request that the specification doesn't define (§4.8). Throws `not_found` after 404 or 410, and `unsupported`
     * after 405 or 501.
     */
    async get(id: string, options: CallOptions): Promise<ApiObject> {
      const reply = await send({ method: "GET", path: pathOf(name, id), needsBody: true }, options);
      return { ...parseObject(reply, revisionField, id), isFromOwnUrl: true };
    },
    /** Deletes an object with a request that the specification doesn't define (§4.8). Throws the same errors as `get`. */
    async delete(id: string, options: CallOptions): Promise<Accepted> {
      const reply = await send({ method: "DELETE", path: pathOf(name, id) }, options);
      return parseAccepted(reply, operations, revisionField, id);
    },
  });

  /**
   * Follows the cursors of a list (§2.5) to its end.
   *
   * @throws CloudInfraError `bad_reply` if a cursor repeats or is missing, because the list would be incomplete, or `not_this_service` if
   * the reply isn't a page
   */
  async function* pagesOf(
    name: "projects" | "instances",
    query: Query,
    options: CallOptions,
  ): AsyncGenerator<Page, void, undefined> {
    const request = { method: "GET", path: pathOf(name), needsBody: true, collection: true } as const;
    const seen = new Set<string>();
    let isComplete = false;
    for (let cursor: string | undefined; ; ) {
      let reply: ApiReply;
      try {
        reply = await send({ ...request, query: { ...query, cursor } }, options);
      } catch (error) {
        if (isComplete && hasStatus(error, [400, 404, 422])) return;
        throw error;
      }
      const page = parsePage(reply, operations);
      const next = cursorAfter(page, seen, reply);
      const objects = page.items.map((fields) => toObject(fields, undefined, revisionField));
      yield { objects, isLast: next === undefined };
      if (next === undefined) return;
      seen.add(next);
      cursor = next;
      isComplete = page.has_more === false;
    }
  }

  const projectPages = (options: CallOptions): AsyncIterable<Page> =>
    pagesOf("projects", { limit: PAGE_LIMIT }, options);

  // The specification allows a limit of 200 only for projects (§8). If it is rejected for instances, later requests omit the limit.
  let instanceLimit: string | undefined = PAGE_LIMIT;
  async function* instancePages(filter: InstanceFilter, options: CallOptions): AsyncIterable<Page> {
    const query = queryOf(filter);
    const limit = instanceLimit;
    let pages = pagesOf("instances", { ...query, limit }, options);
    let first: IteratorResult<Page, void>;
    try {
      first = await pages.next();
    } catch (error) {
      if (limit === undefined || !hasStatus(error, [400, 422])) throw error;
      pages = pagesOf("instances", query, options);
      first = await pages.next();
      instanceLimit = undefined;
    }
    if (!first.done) yield first.value;
    yield* pages;
  }

  return {
    projects: {
      ...collection("projects"),
      pages: projectPages,
      list: (options: CallOptions) => collect(projectPages(options)),
    },
    instances: {
      ...collection("instances"),
      pages: instancePages,
      list: (filter: InstanceFilter, options: CallOptions) => collect(instancePages(filter, options)),
      /**
       * Sends a PUT with an If-Match header (§4.5).
       *
       * @param revision opaque tag without quotes
       * @throws CloudInfraError `revision_conflict` after 412
       */
      async update(id: string, body: string, revision: string, options: CallOptions): Promise<Accepted> {
        const path = pathOf("instances", id);
        const reply = await send({ method: "PUT", path, body, ifMatch: revision }, options);
        return parseAccepted(reply, operations, revisionField, id);
      },
    },
  };
}

function queryOf({ project, status, labels = {} }: InstanceFilter): Query {
  const byLabel = Object.entries(labels).map(([key, value]) => [`label.${key}`, value]);
  return { project, status, ...Object.fromEntries(byLabel) };
}

export interface Page {
  readonly objects: ApiObject[];
  readonly isLast: boolean;
}

function hasStatus(error: unknown, statuses: readonly number[]): boolean {
  return isCloudInfraError(error) && statuses.includes(error.status ?? 0);
}

/** Parses a boolean. Any value except false is treated as true, so that an incomplete list doesn't appear to be complete. */
const flag = v.pipe(
  v.unknown(),
  v.transform((value) => typeof value === "object" || !/^(false|0)$/i.test(String(value))),
);

const pageSchema = v.pipe(
  v.looseObject({}),
  // A reply without a list, a cursor and `has_more` is not an empty page, but a different kind of object.
  v.check((page) => ["items", "next_cursor", "has_more"].some((name) => Object.hasOwn(page, name))),
  v.looseObject({
    // Some services return an empty list as null, or omit the list.
    items: v.nullish(v.array(objectSchema), []),
    next_cursor: v.nullish(textSchema),
    has_more: v.nullish(flag),
  }),
);

function parsePage(reply: ApiReply, operations: Operations): v.InferOutput<typeof pageSchema> {
  const { error, errors }: JsonObject = Object(reply.json);
  // Some services report an outage with status 200. Their list is then incomplete.
  const problem = operations.problemOf({ error, errors });
  if (problem !== undefined)
    throw badReply(reply, "the service returned an error instead of a list", problem);
  const page = v.safeParse(pageSchema, reply.json);
  if (page.success) return page.output;
  if (Object.hasOwn(Object(reply.json), "items"))
    throw badReply(reply, "the list has an item without an id, or an invalid cursor");
  const details = { ...reply.request, status: reply.status };
  throw new CloudInfraError("not_this_service", "the reply isn't a list of this API", details);
}

function cursorAfter(
  { items, has_more: hasMore, next_cursor: next }: v.InferOutput<typeof pageSchema>,
  seen: ReadonlySet<string>,
  reply: ApiReply,
): string | undefined {
  // A list with a missing or repeated cursor would be incomplete.
  if (next === undefined || next === null || next === "") {
    if (hasMore)
      throw badReply(reply, "the list has more items, but the reply contains no cursor for the next page");
    return undefined;
  }
  // Some services return a cursor even on the last page, where `has_more` is false. They may reject that cursor.
  if (hasMore === false && (seen.has(next) || items.length === 0)) return undefined;
  if (seen.has(next)) throw badReply(reply, "the list returned the same cursor twice");
  return next;
}

/** Reads all pages of a list. An object that appears on two pages, because the list changes, is returned once. */
export async function collect(pages: AsyncIterable<Page>): Promise<ApiObject[]> {
  const byId = new Map<string, ApiObject>();
  for await (const { objects } of pages) {
    for (const object of objects) byId.set(object.id, object);
  }
  return [...byId.values()];
}
