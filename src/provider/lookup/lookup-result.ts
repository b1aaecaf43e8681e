import type { ApiObject, CallOptions } from "../../api/client";
import type { Kind } from "../../model/kinds";
import type { Progress } from "../progress/progress";
import type { Objects } from "./list-cache";

type LookupMethod = "get" | "sweep";

/**
 * One look at the service for one object, and how it was looked for. `isDeleted`: the service says that it was deleted. `isGone`: the status
 * 410 says so, which a gateway may answer for the whole service.
 */
export type LookupResult =
  | { readonly found: ApiObject; readonly by: LookupMethod }
  | { readonly missing: LookupMethod; readonly isDeleted?: boolean; readonly isGone?: boolean };

/** Which object is looked for. Of a project there is no project. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly id: string;
  readonly project: string | undefined;
  /** Whether the state shows that GET has returned the object. */
  readonly wasReadByGet?: boolean;
}

/** How long a look may take, and where it is told what it waits for. */
export interface LookupOptions extends CallOptions {
  readonly progress?: Pick<Progress, "during" | "pausing"> | undefined;
}

/** What a whole list shows of an object. */
export function resultInList(objects: Objects, { id }: ObjectRef): LookupResult {
  return toLookupResult(objects.get(id), "sweep");
}

/** The one place that decides whether an object exists for reads, updates, deletions and lookups alike. */
export function toLookupResult(found: ApiObject | undefined, by: LookupMethod): LookupResult {
  if (found === undefined) return { missing: by };
  return isDeleted(found) ? { missing: by, isDeleted: true } : { found, by };
}

/** Statuses of an object that no longer exists, although the service still shows it. */
const DELETED_STATUSES = new Set([
  ...["deleted", "softdeleted", "terminated", "destroyed", "removed", "purged", "expunged"],
]);
/** Words that may stand beside them. Any other word, as in "to be deleted", may mean the opposite. */
const NEUTRAL_WORDS = new Set(["soft", "hard", "instance", "vm", "server", "machine", "state", "status"]);

/** Whether a service that keeps showing deleted objects says that this is one (§3 names no statuses), in any spelling. */
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
