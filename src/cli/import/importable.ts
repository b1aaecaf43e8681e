import type { ApiObject } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Context } from "../../provider/call";
import { isDeleted } from "../../provider/looks/deleted";
import { omittedInstance } from "./declaration";
import type { StackResources } from "./stack-resources";

/** If the first requests show that the service doesn't offer GET, the others aren't sent. */
const GETS_AT_ONCE = 16;

/**
 * Selects the items of a list that may be imported, and completes them. `excluded` says why others aren't: they were deleted, or the stack
 * already manages them.
 */
export async function findImportable(
  context: Context,
  items: readonly ApiObject[],
  existing: StackResources,
): Promise<{ objects: ApiObject[]; excluded: string[] }> {
  const selected: ApiObject[] = [];
  const excluded: string[] = [];
  for (const item of items) {
    const reason = isDeleted(item)
      ? `it was deleted: its status is ${item.fields.status}`
      : existing.manages(context, item.id)
        ? "the stack already manages it"
        : undefined;
    if (reason === undefined) selected.push(item);
    else excluded.push(omittedInstance(context, item, reason));
  }
  const objects: ApiObject[] = [];
  for (let at = 0; at < selected.length; at += GETS_AT_ONCE) {
    const some = selected.slice(at, at + GETS_AT_ONCE);
    objects.push(...(await Promise.all(some.map((item) => completed(context, item)))));
  }
  return { objects, excluded };
}

/** A list may omit arguments (§4.4), or spell them in another way than a refresh finds them. The token may only be allowed to list. */
async function completed(context: Context, item: ApiObject): Promise<ApiObject> {
  const { kind, session } = context;
  try {
    return await session.finder.completeListItem(item, { kind, id: item.id, project: undefined }, context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "forbidden") return item;
    throw error;
  }
}
