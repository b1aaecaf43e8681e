import * as v from "valibot";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { textSchema } from "../diagnostics/problem";
import { type ApiObject, badReply, objectSchema, toObject } from "./objects";
import type { ApiReply } from "./request";

/** One page of a list. */
export interface Page {
  readonly objects: ApiObject[];
  readonly isLast: boolean;
}

/** Reports whether the service rejected an argument of a request. */
export function isRejectedArgument(error: unknown): boolean {
  return isCloudInfraError(error) && (error.status === 400 || error.status === 422);
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

/**
 * Follows the cursors of a list (§2.5) to its end.
 *
 * @throws CloudInfraError `bad_reply` if a cursor repeats or is missing, because the list would be incomplete, or `not_this_service` if the
 * reply isn't a page
 */
export async function* followPages(
  fetchPage: (cursor: string | undefined) => Promise<ApiReply>,
  revisionField: string | undefined,
): AsyncGenerator<Page, void, undefined> {
  const seen = new Set<string>();
  let isComplete = false;
  for (let cursor: string | undefined; ; ) {
    let reply: ApiReply;
    try {
      reply = await fetchPage(cursor);
    } catch (error) {
      const isRejectedCursor =
        isRejectedArgument(error) || (isCloudInfraError(error) && error.status === 404);
      if (isComplete && isRejectedCursor) return;
      throw error;
    }
    const page = v.safeParse(pageSchema, reply.json);
    if (!page.success) throw notAPage(reply);
    const next = cursorAfter(page.output, seen, reply);
    yield {
      objects: page.output.items.map((fields) => toObject(fields, undefined, revisionField)),
      isLast: next === undefined,
    };
    if (next === undefined) return;
    seen.add(next);
    cursor = next;
    isComplete = page.output.has_more === false;
  }
}

function cursorAfter(
  { items, has_more: hasMore, next_cursor: next }: v.InferOutput<typeof pageSchema>,
  seen: ReadonlySet<string>,
  reply: ApiReply,
): string | undefined {
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

function notAPage(reply: ApiReply): CloudInfraError {
  const isPage = typeof reply.json === "object" && reply.json !== null && "items" in reply.json;
  if (isPage) return badReply(reply, "the list has an item without an id, or an invalid cursor");
  const { request, status } = reply;
  return new CloudInfraError("not_this_service", "the reply isn't a list of this API", {
    ...request,
    status,
  });
}
