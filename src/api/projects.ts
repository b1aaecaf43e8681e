import type { Accepted } from "./accepted";
import { type Collection, PAGE_LIMIT } from "./collection";
import type { ApiObject } from "./object";
import { collect, type Page } from "./pages";
import type { CallOptions } from "./request";

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
