import * as v from "valibot";
import type { Collection } from "./collection";
import { badParameter, type Refusal } from "./problems";

/** What a query asks for: how many, and from where on. */
export interface PageQuery {
  readonly limit: number;
  readonly after: number;
  /** The filters, as text: a cursor counts only for the filters it was made with. */
  readonly filters: string;
}

/** §2.5 */
export interface Page<T> {
  readonly items: T[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

const pageParameters = new Set(["limit", "cursor"]);
const cursorContent = v.pipe(
  v.string(),
  v.parseJson(),
  v.tuple([v.pipe(v.number(), v.integer()), v.string()]),
);

/** `limit` (1 to 200, else 50) and `cursor` of a query (§4.3), or a 400 that names the one that is wrong. */
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

/** The page that a query asks for, of the objects that `matches`; never more than `cap` items. */
export function page<T extends { readonly id: string }, Item>(
  collection: Collection<T>,
  query: PageQuery,
  cap: number | undefined,
  matches: (object: T) => boolean,
  view: (object: T) => Item,
): Page<Item> {
  const size = Math.min(query.limit, cap ?? query.limit);
  const items: Item[] = [];
  let last = query.after;
  for (const { position, item } of collection.after(query.after)) {
    if (!matches(item)) continue;
    if (items.length === size) {
      const cursor = Buffer.from(JSON.stringify([last, query.filters])).toString("base64url");
      return { items, next_cursor: cursor, has_more: true };
    }
    items.push(view(item));
    last = position;
  }
  return { items, next_cursor: null, has_more: false };
}
