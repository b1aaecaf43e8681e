import { CloudInfraError } from "../diagnostics/error";
import { type Operation, summarizeOperation } from "../polling/wait";
import { createAuth, type TokenSource } from "./auth";
import type { JsonObject } from "./body";
import { parseEndpoint, pathOf, readLink } from "./endpoint";
import { type ApiObject, badReply, parseObject } from "./objects";
import { type Accepted, createOperations, type Operations, parseAccepted, resultIdOf } from "./operations";
import { collect, followPages, isRejectedArgument, type Page } from "./pagination";
import { createRateLimiter, type RateLimits } from "./rate-limiter";
import { type ApiRequest, type CallOptions, createSend, type Send, type SendOptions } from "./request";

export type { ApiObject } from "./objects";
export type { Accepted } from "./operations";
export type { Page } from "./pagination";
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
    /** Sends a GET, for `probe`. */
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

function createCollections(send: Send, operations: Operations, revisionField: string | undefined) {
  const collection = (name: "projects" | "instances") => ({
    /** Sends a POST with an idempotency key, which is a UUID v4 (§4.7). */
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

  function pagesOf(name: "projects" | "instances", query: ApiRequest["query"], options: CallOptions) {
    const request = { method: "GET", path: pathOf(name), needsBody: true, collection: true } as const;
    return followPages(async (cursor) => {
      const reply = await send({ ...request, query: { ...query, cursor } }, options);
      const { error, errors, unreachable }: JsonObject = Object(reply.json);
      // Some services report an outage with status 200. Their list is then incomplete.
      const problem = operations.problemOf({ error, errors, unreachable });
      if (problem !== undefined)
        throw badReply(reply, "the service returned an error instead of a list", problem);
      return reply;
    }, revisionField);
  }

  const projectPages = (options: CallOptions): AsyncIterable<Page> =>
    pagesOf("projects", { limit: PAGE_LIMIT }, options);

  // The specification allows a limit of 200 only for projects (§8). If it is rejected for instances, later requests omit the limit.
  let instanceLimit: string | undefined = PAGE_LIMIT;
  async function* instancePages(filter: InstanceFilter, options: CallOptions): AsyncIterable<Page> {
    const { project, status, labels = {} } = filter;
    const byLabel = Object.entries(labels).map(([key, value]) => [`label.${key}`, value]);
    const query = { project, status, ...Object.fromEntries(byLabel) };
    const limit = instanceLimit;
    let pages = pagesOf("instances", { ...query, limit }, options);
    let first: IteratorResult<Page, void>;
    try {
      first = await pages.next();
    } catch (error) {
      if (limit === undefined || !isRejectedArgument(error)) throw error;
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
      /** Sends a PUT with an If-Match header (§4.5). Throws `revision_conflict` after 412. */
      async update(id: string, body: string, revision: string, options: CallOptions): Promise<Accepted> {
        const path = pathOf("instances", id);
        const reply = await send({ method: "PUT", path, body, ifMatch: revision }, options);
        return parseAccepted(reply, operations, revisionField, id);
      },
    },
  };
}
