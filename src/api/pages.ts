import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { type ApiObject, badReply, toObject } from "./objects";
import type { ApiReply } from "./request";
import { pageSchema } from "./schema";

/** One page of a list. */
export interface Page {
  readonly objects: ApiObject[];
  /** Whether the list ends with it. */
  readonly isLast: boolean;
}

/**
 * Follows a list's cursors (§2.5) to its end.
 *
 * @param fetchPage asks for the page at a cursor; the first has none
 * @throws CloudInfraError `bad_reply` for a cursor that came before, or for more items without a cursor: a list that was not seen to its
 * end must not look complete; `not_this_service` where it is no page at all
 */
export async function* followPages(
  fetchPage: (cursor: string | undefined) => Promise<ApiReply>,
  revisionField: string | undefined,
): AsyncGenerator<Page, void, undefined> {
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const reply = await fetchPage(cursor);
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
  }
}

/** @returns `undefined` at the end of the list */
function cursorAfter(
  { items, has_more: hasMore, next_cursor: next }: v.InferOutput<typeof pageSchema>,
  seen: ReadonlySet<string>,
  reply: ApiReply,
): string | undefined {
  if (next === undefined || next === null || next === "") {
    if (hasMore) throw badReply(reply, "the list has more items but no cursor to them");
    return undefined;
  }
  // Services that keep sending a cursor at the end say so with has_more.
  if (hasMore === false && (seen.has(next) || items.length === 0)) return undefined;
  if (seen.has(next)) throw badReply(reply, "the list's cursors go round in a circle");
  return next;
}

/** Everything a list has, each object once: while it changes, the same one can show on two pages. */
export async function collect(pages: AsyncIterable<Page>): Promise<ApiObject[]> {
  const byId = new Map<string, ApiObject>();
  for await (const { objects } of pages) {
    for (const object of objects) byId.set(object.id, object);
  }
  return [...byId.values()];
}

function notAPage(reply: ApiReply): CloudInfraError {
  const isPage = typeof reply.json === "object" && reply.json !== null && "items" in reply.json;
  if (isPage) return badReply(reply, "the list has an item without an id, or a malformed cursor");
  const { request, status } = reply;
  return new CloudInfraError("not_this_service", "the reply is no list of this API", { ...request, status });
}
