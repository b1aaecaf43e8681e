import { isCloudInfraError } from "../diagnostics/error";
import { type Accepted, parseAccepted } from "./accepted";
import { pathOf } from "./endpoint";
import { type ApiObject, badReply, parseObjectWithId } from "./objects";
import type { OperationReader } from "./operations";
import { collect, followPages, type Page } from "./pages";
import type { CallOptions, Send } from "./request";

/** Largest page that the API names (§8). */
const PAGE_LIMIT = "200";

/** What projects and instances have in common. */
export interface Collection {
  create(body: string, key: string, options: CallOptions): Promise<Accepted>;
  get(id: string, options: CallOptions): Promise<ApiObject>;
  update(id: string, body: string, revision: string, options: CallOptions): Promise<Accepted>;
  delete(id: string, options: CallOptions): Promise<Accepted>;
  /** One page after the other. @param limit items of a page; left out where undefined */
  pages(
    query: Readonly<Record<string, string | undefined>>,
    options: CallOptions,
  ): AsyncGenerator<Page, void, undefined>;
}

export interface CollectionParts {
  readonly send: Send;
  readonly operations: OperationReader;
  readonly revisionField: string | undefined;
}

export function createCollection(
  name: "projects" | "instances",
  { send, operations, revisionField }: CollectionParts,
): Collection {
  const all = pathOf(name);
  return {
    async create(body, key, options) {
      const request = {
        method: "POST",
        path: all,
        body,
        idempotencyKey: key,
        needsBody: true,
        collection: true,
      } as const;
      const reply = await send(request, options);
      const accepted = parseAccepted(reply, operations, revisionField);
      if (accepted.kind !== "none") return accepted;
      throw badReply(reply, "the service accepted the request, but named neither an operation nor an object");
    },
    async get(id, options) {
      const reply = await send({ method: "GET", path: pathOf(name, id), needsBody: true }, options);
      return { ...parseObjectWithId(id, reply, revisionField), isFromOwnUrl: true };
    },
    async update(id, body, revision, options) {
      const reply = await send({ method: "PUT", path: pathOf(name, id), body, ifMatch: revision }, options);
      return parseAccepted(reply, operations, revisionField, id);
    },
    async delete(id, options) {
      const reply = await send({ method: "DELETE", path: pathOf(name, id) }, options);
      return parseAccepted(reply, operations, revisionField, id);
    },
    pages(query, options) {
      const page = (cursor: string | undefined) =>
        send(
          { method: "GET", path: all, query: { ...query, cursor }, needsBody: true, collection: true },
          options,
        );
      return followPages(page, revisionField);
    },
  };
}

/** Projects (§2.1, §4.2, §4.3). */
export interface Projects {
  /**
   * POST /v1/projects.
   *
   * @param body JSON text, sent as it is on every try
   * @param key idempotency key, a UUID v4 (§4.7)
   */
  create(body: string, key: string, options: CallOptions): Promise<Accepted>;
  /** Every project, from all pages. */
  list(options: CallOptions): Promise<ApiObject[]>;
  /** One page after the other. */
  pages(options: CallOptions): AsyncIterable<Page>;
  /** Not shown by the API (§4.8): throws `not_found` for 404 and 410, `unsupported` for 405 and 501. */
  get(id: string, options: CallOptions): Promise<ApiObject>;
  /** Not shown by the API (§4.8), see {@link Projects.get}. */
  delete(id: string, options: CallOptions): Promise<Accepted>;
}

export function createProjects(collection: Collection): Projects {
  const pages = (options: CallOptions) => collection.pages({ limit: PAGE_LIMIT }, options);
  return {
    create: collection.create,
    get: collection.get,
    delete: collection.delete,
    pages,
    list: (options) => collect(pages(options)),
  };
}

/** Which instances to list; the filters are combined (§4.4). */
interface InstanceFilter {
  /** Id of the project. */
  project?: string | undefined;
  status?: string | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
}

/** Instances (§2.2, §4.1, §4.4, §4.5). */
export interface Instances {
  /**
   * POST /v1/instances.
   *
   * @param body JSON text, sent as it is on every try
   * @param key idempotency key, a UUID v4 (§4.7)
   */
  create(body: string, key: string, options: CallOptions): Promise<Accepted>;
  /** Every instance that matches, from all pages. */
  list(filter: InstanceFilter, options: CallOptions): Promise<ApiObject[]>;
  /** One page after the other. */
  pages(filter: InstanceFilter, options: CallOptions): AsyncIterable<Page>;
  /** Not shown by the API (§4.8): throws `not_found` for 404 and 410, `unsupported` for 405 and 501. */
  get(id: string, options: CallOptions): Promise<ApiObject>;
  /**
   * PUT with If-Match (§4.5).
   *
   * @param revision opaque tag without quotes
   * @throws CloudInfraError `revision_conflict` for 412
   */
  update(id: string, body: string, revision: string, options: CallOptions): Promise<Accepted>;
  /** Not shown by the API (§4.8), see {@link Instances.get}. */
  delete(id: string, options: CallOptions): Promise<Accepted>;
}

export function createInstances(collection: Collection): Instances {
  // §8 states the limit of 200 for projects only: instances that refuse it are listed without, from then on.
  let limit: string | undefined = PAGE_LIMIT;

  async function* pages(filter: InstanceFilter, options: CallOptions): AsyncGenerator<Page, void, undefined> {
    let list = collection.pages({ ...queryOf(filter), limit }, options);
    const asked = limit;
    let first: IteratorResult<Page, void>;
    try {
      first = await list.next();
    } catch (error) {
      if (asked === undefined || !isRefusedArgument(error)) throw error;
      list = collection.pages(queryOf(filter), options);
      first = await list.next();
      limit = undefined;
    }
    if (!first.done) yield first.value;
    yield* list;
  }

  return {
    create: collection.create,
    get: collection.get,
    update: collection.update,
    delete: collection.delete,
    pages,
    list: (filter, options) => collect(pages(filter, options)),
  };
}

function queryOf({ project, status, labels = {} }: InstanceFilter): Record<string, string | undefined> {
  const byLabel = Object.entries(labels).map(([key, value]) => [`label.${key}`, value]);
  return { project, status, ...Object.fromEntries(byLabel) };
}

function isRefusedArgument(error: unknown): boolean {
  return isCloudInfraError(error) && (error.status === 400 || error.status === 422);
}
