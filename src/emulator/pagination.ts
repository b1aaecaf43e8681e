import * as v from "valibot";
import type { Behaviour } from "./behaviour";
import type { CollectionEntry } from "./collection";
import { badParameter, type Refusal } from "./problems";

/** The parsed paging parameters of a query. */
export interface PageQuery {
  readonly limit: number;
  /** The position after which the page starts. */
  readonly after: number;
  /** The filters as a string. A cursor is valid only for the filters with which it was created. */
  readonly filters: string;
}

const pageParameters = new Set(["limit", "cursor"]);
const cursorContent = v.pipe(
  v.string(),
  v.parseJson(),
  v.tuple([v.pipe(v.number(), v.integer()), v.string()]),
);

/** Parses `limit` (1 to 200, default 50) and `cursor` (§4.3), or rejects them with 400. */
export function parsePage(query: URLSearchParams): PageQuery | Refusal {
  const limit = query.get("limit") ?? "50";
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 200) {
    return badParameter("limit", "invalid_limit", "limit must be a whole number from 1 to 200");
  }
  const filters = new URLSearchParams([...query].filter(([name]) => !pageParameters.has(name))).toString();
  const cursor = query.get("cursor");
  if (cursor === null) return { limit: Number(limit), after: 0, filters };
  const content = v.safeParse(cursorContent, Buffer.from(cursor, "base64url").toString());
  if (!content.success || content.output[1] !== filters) {
    return badParameter("cursor", "invalid_cursor", "cursor does not come from a page of this list");
  }
  return { limit: Number(limit), after: content.output[0], filters };
}

/** Returns a page of a list (§2.5). `entries` contains the objects after the start of the page. */
export function page<T>(
  entries: Iterable<CollectionEntry<T>>,
  query: PageQuery,
  behaviour: Behaviour,
  matches: (object: T) => boolean,
  view: (object: T) => object,
): object {
  const size = Math.min(query.limit, behaviour.pageSize ?? query.limit);
  const items: object[] = [];
  let last = query.after;
  for (const { position, item } of entries) {
    if (!matches(item)) continue;
    if (items.length === size) {
      const cursor = Buffer.from(JSON.stringify([last, query.filters])).toString("base64url");
      return { items, next_cursor: cursor, has_more: true };
    }
    items.push(view(item));
    last = position;
  }
  return { ...itemsOf(items, behaviour), ...lastCursors[behaviour.lastCursor], has_more: false };
}

const lastCursors = { null: { next_cursor: null }, absent: {}, empty: { next_cursor: "" } } as const;

function itemsOf(items: readonly object[], { emptyItems }: Behaviour): object {
  if (items.length > 0 || emptyItems === "list") return { items };
  return emptyItems === "null" ? { items: null } : {};
}
