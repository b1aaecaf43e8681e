import type { ApiObject, CallOptions, Client } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../../model/resource-fields";
import type { Recorded } from "../../model/state";
import type { Progress } from "../progress/progress";
import type { Objects } from "./list-cache";

/** The maximum number of GETs per kind that only test whether GET works. */
const MAX_PROBES = 6;
/** After this many consecutive replies that reject GET, or don't find an object from a list, GET is treated as unsupported. */
const ENOUGH_EVIDENCE = 2;

/** Tracks whether the service supports GET for one kind of object, which the specification doesn't cover (§4.8). */
class GetSupport {
  /** Whether GET has returned an object. */
  works = false;
  isRefused = false;
  refusals = 0;
  probes = 0;
  /** The ids that appear in a list, but that GET doesn't find. A list may lag behind, so these ids prove nothing about other ids. */
  readonly contradicted = new Set<string>();
}

/** Reads single objects with GET if the service supports it. */
export class ObjectGetter {
  private readonly kinds = new Map<Kind["name"], GetSupport>();

  /** @param onFound called for each object that GET returns */
  constructor(
    private readonly client: Client,
    private readonly onFound: (ref: ObjectRef, object: ApiObject) => void,
  ) {}

  /** Reports whether GET has returned an object of this kind. */
  works(kind: Kind): boolean {
    return this.of(kind).works;
  }

  /** Reports whether the service doesn't support GET for this object. */
  isUnsupported({ kind, id }: Pick<ObjectRef, "kind" | "id">): boolean {
    const { isRefused, contradicted } = this.of(kind);
    return isRefused || contradicted.has(id);
  }

  /**
   * Reads an object. If GET has worked before, a single rejection may be an error, so the request is repeated once.
   *
   * @returns `undefined` if the service doesn't support GET for this object
   */
  async get(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    return this.isUnsupported(ref) ? undefined : this.confirmed(ref, options);
  }

  /**
   * Reads an object that appears in a list, but that GET hasn't found. Either reply may be wrong, so GET is repeated if it has worked
   * before.
   *
   * @returns `undefined` if GET doesn't find it
   */
  async getListed(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    const result = this.hasWorked(ref) ? await this.once(ref, options) : undefined;
    if (result !== undefined && "found" in result) return result;
    const learned = this.of(ref.kind);
    learned.contradicted.add(ref.id);
    if (learned.works) learned.contradicted.clear();
    if (learned.contradicted.size >= ENOUGH_EVIDENCE) this.refused(ref.kind, ENOUGH_EVIDENCE);
    return undefined;
  }

  /** Reads an object that appears in a list, even if one earlier reply has rejected GET. */
  async getAgain(ref: ObjectRef, options: LookupOptions): Promise<ApiObject | undefined> {
    if (this.of(ref.kind).refusals >= ENOUGH_EVIDENCE) return undefined;
    const first = await this.confirmed(ref, options);
    const isMissing = first !== undefined && !("found" in first);
    const result = isMissing ? await this.getListed(ref, options) : first;
    return result !== undefined && "found" in result ? result.found : undefined;
  }

  /** Reports whether to send another GET only to test whether GET works. */
  mayProbe(kind: Kind): boolean {
    const { works, isRefused, probes } = this.of(kind);
    return !works && !isRefused && probes < MAX_PROBES;
  }

  /** Records a GET that was sent only to test whether GET works. */
  recordProbe(kind: Kind): void {
    this.of(kind).probes += 1;
  }

  /** Reports whether GET has worked, in this process or in the one that wrote the object's state. */
  private hasWorked({ kind, wasReadByGet = false }: ObjectRef): boolean {
    return this.works(kind) || wasReadByGet;
  }

  private async confirmed(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    const hasWorked = this.hasWorked(ref);
    const first = await this.once(ref, options);
    const result = first === undefined && hasWorked ? await this.once(ref, options) : first;
    if (result === undefined) this.refused(ref.kind);
    return result;
  }

  /** @returns `undefined` if the reply means that the service doesn't support GET */
  private async once(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    try {
      const found = await ref.kind.requests(this.client).get(ref.id, options);
      Object.assign(this.of(ref.kind), { works: true, isRefused: false, refusals: 0 });
      this.of(ref.kind).contradicted.clear();
      this.onFound(ref, found);
      return toLookupResult(found, "get");
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "not_found")
        return error.status === 410 ? { missing: "get", isGone: true } : { missing: "get" };
      if (!isCloudInfraError(error) || error.code !== "unsupported") throw error;
      return undefined;
    }
  }

  private refused(kind: Kind, times = 1): void {
    const learned = this.of(kind);
    learned.isRefused = true;
    learned.refusals += times;
  }

  private of({ name }: Kind): GetSupport {
    const learned = this.kinds.get(name) ?? new GetSupport();
    this.kinds.set(name, learned);
    return learned;
  }
}

type LookupMethod = "get" | "list";

/**
 * The result of looking up one object, and the method. `isDeleted` means that the service reports that the object was deleted. `isGone`
 * means that the reply was a 410, which a gateway may also return for the whole service.
 */
export type LookupResult =
  | { readonly found: ApiObject; readonly by: LookupMethod }
  | { readonly missing: LookupMethod; readonly isDeleted?: boolean; readonly isGone?: boolean };

/** Identifies the object to look up. A project has no `project`. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly id: string;
  /** The project as the program sets it. */
  readonly project: string | undefined;
  /** The remote value of the project, if it differs. Either one may be the id in the list of projects, and the other a name or a link. */
  readonly shownProject?: string | undefined;
  /** The recorded creation date. */
  readonly createdAt?: Recorded["createdAt"];
  /** Whether the state records that GET has returned the object. */
  readonly wasReadByGet?: boolean;
}

/** The limits of a lookup, and the progress to show while it waits. */
export interface LookupOptions extends CallOptions {
  readonly progress?: Pick<Progress, "during" | "pausing"> | undefined;
}

/** Looks up an object in a complete list. */
export function resultInList(objects: Objects, { id }: ObjectRef): LookupResult {
  return toLookupResult(objects.get(id), "list");
}

/** Decides whether an object exists, in the same way for reads, updates, deletions and lookups. */
export function toLookupResult(found: ApiObject | undefined, by: LookupMethod): LookupResult {
  if (found === undefined) return { missing: by };
  return isDeleted(found) ? { missing: by, isDeleted: true } : { found, by };
}

/** The statuses of an object that no longer exists, even if the service still returns it. */
const DELETED_STATUSES = new Set([
  ...["deleted", "softdeleted", "terminated", "destroyed", "removed", "purged", "expunged"],
]);
/** Words that may accompany these statuses. Any other word, as in "to be deleted", may mean the opposite. */
const NEUTRAL_WORDS = new Set(["soft", "hard", "instance", "vm", "server", "machine", "state", "status"]);

/**
 * Reports whether the status means that the object was deleted, regardless of case and separators. Some services keep returning deleted
 * objects.
 */
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
