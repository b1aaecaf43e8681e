import type { ApiObject, CallOptions } from "../../api/client";
import type { Kind } from "../../model/kinds";
import type { Progress } from "../progress/progress";
import type { Objects } from "./list-cache";

type LookupMethod = "get" | "sweep";

/**
 * The result of looking up one object, and the method. `isDeleted`: the service reports that the object was deleted. `isGone`: the reply was a
 * 410, which a gateway may also return for the whole service.
 */
export type LookupResult =
  | { readonly found: ApiObject; readonly by: LookupMethod }
  | { readonly missing: LookupMethod; readonly isDeleted?: boolean; readonly isGone?: boolean };

/** Identifies the object to look up. A project has no `project`. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly id: string;
  readonly project: string | undefined;
  /** Whether the state records that GET has returned the object. */
  readonly wasReadByGet?: boolean;
}

/** The limits of a lookup, and the progress to show while it waits. */
export interface LookupOptions extends CallOptions {
  readonly progress?: Pick<Progress, "during" | "pausing"> | undefined;
}

/** Looks up an object in a whole list. */
export function resultInList(objects: Objects, { id }: ObjectRef): LookupResult {
  return toLookupResult(objects.get(id), "sweep");
}

/** Decides whether an object exists, for reads, updates, deletions and lookups alike. */
export function toLookupResult(found: ApiObject | undefined, by: LookupMethod): LookupResult {
  if (found === undefined) return { missing: by };
  return isDeleted(found) ? { missing: by, isDeleted: true } : { found, by };
}

/** Statuses of an object that no longer exists, even if the service still shows it. */
const DELETED_STATUSES = new Set([
  ...["deleted", "softdeleted", "terminated", "destroyed", "removed", "purged", "expunged"],
]);
/** Words that may accompany them. Any other word, as in "to be deleted", may mean the opposite. */
const NEUTRAL_WORDS = new Set(["soft", "hard", "instance", "vm", "server", "machine", "state", "status"]);

/** Whether the status says that the object was deleted, in any spelling. Some services keep showing deleted objects; §3 names no statuses. */
export function isDeleted({ fields: { status } }: ApiObject): boolean {
  if (typeof status !== "string") return false;
  const words =
    status
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  return (
    words.some((word) => DELETED_STATUSES.has(word)) &&
    words.every((word) => DELETED_STATUSES.has(word) || NEUTRAL_WORDS.has(word))
  );
}
