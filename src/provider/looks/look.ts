import type { ApiObject, CallOptions } from "../../api/client";
import type { Kind } from "../kind";
import type { Progress } from "../shown/progress";
import { isDeleted } from "./deleted";
import type { Objects } from "./listing";

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
