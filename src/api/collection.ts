import { type Accepted, parseAccepted } from "./accepted";
import { pathOf } from "./endpoint";
import { type ApiObject, badReply, parseObjectWithId } from "./object";
import type { OperationReader } from "./operations";
import { followPages, type Page } from "./pages";
import type { CallOptions, Send } from "./request";

/** Largest page that the API names (§8). */
export const PAGE_LIMIT = "200";

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
