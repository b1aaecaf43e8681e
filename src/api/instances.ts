import { isCloudInfraError } from "../diagnostics/error";
import type { Accepted } from "./accepted";
import { type Collection, PAGE_LIMIT } from "./collection";
import type { ApiObject } from "./object";
import { collect, type Page } from "./pages";
import type { CallOptions } from "./request";

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
