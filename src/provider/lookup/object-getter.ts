import type { ApiObject, CallOptions, Client } from "../../api/client";
import { type CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../../model/resource-fields";
import type { Recorded } from "../../model/state";
import type { Progress } from "../progress";
import type { Objects } from "./list-cache";

/** The maximum number of GETs that only test whether GET works, for each kind of object. */
const MAX_PROBES = 6;
/** The number of consecutive unsuccessful replies after which GET is treated as unsupported. */
const ENOUGH_EVIDENCE = 2;

/** The knowledge about GET for one kind of object. The specification doesn't define this request (§4.8). */
class GetSupport {
  /** Whether GET has returned an object. */
  works = false;
  /** The number of unsuccessful replies since GET last worked. */
  refusals = 0;
  /** The error of a rejected GET for an object that a list contains, unless GET has worked. The token may lack a permission. */
  denial: CloudInfraError | undefined;
  /** The number of GETs that only tested whether GET works. */
  probes = 0;
  /** The ids of objects that a list contains but GET doesn't return. A list may lag, so these ids prove nothing about other ids. */
  readonly contradicted = new Set<string>();

  /** Reports whether another GET may be sent only to test whether GET works. */
  get mayProbe(): boolean {
    return !this.works && this.refusals === 0 && this.probes < MAX_PROBES;
  }
}

/** Reads single objects with GET, if the service supports GET. */
export class ObjectGetter {
  private readonly kinds = new Map<Kind["name"], GetSupport>();

  /** @param onFound called for each object that GET returns */
  constructor(
    private readonly client: Client,
    private readonly onFound: (ref: ObjectRef, object: ApiObject) => void,
  ) {}

  /** Reports whether the service doesn't support GET for this object. */
  isUnsupported({ kind, id }: Pick<ObjectRef, "kind" | "id">): boolean {
    const { refusals, contradicted } = this.of(kind);
    return refusals > 0 || contradicted.has(id);
  }

  /**
   * Reads an object. If GET has worked before, a rejected request is repeated once, because a single rejection may be an error.
   *
   * @param findListed looks up the object in a list, which is used if GET is denied and has never worked
   * @returns `undefined` if the service doesn't support GET for this object
   */
  async get(
    ref: ObjectRef,
    options: LookupOptions,
    findListed: () => Promise<LookupResult>,
  ): Promise<LookupResult | undefined> {
    return this.isUnsupported(ref) ? undefined : this.confirmed(ref, options, findListed);
  }

  /** Reads an object that a list contains but GET hasn't found. If GET has worked before, either reply may be wrong. */
  async getListed(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    const result = this.hasWorked(ref) ? await this.once(ref, options) : undefined;
    if (result !== undefined && "found" in result) return result;
    this.recordContradiction(ref);
    return undefined;
  }

  /** Completes a list item with the result of GET, if GET finds the object. A single earlier rejection of GET is ignored. */
  async complete(item: ApiObject, ref: ObjectRef, options: LookupOptions): Promise<ApiObject> {
    if (this.of(ref.kind).refusals >= ENOUGH_EVIDENCE) return item;
    const listed: LookupResult = { found: item, by: "list" };
    const first = (await this.confirmed(ref, options, async () => listed)) ?? listed;
    const result = "found" in first ? first : await this.getListed(ref, options);
    const isRead = result !== undefined && "found" in result && result.by === "get";
    return isRead ? withOmittedFields(item, result.found) : item;
  }

  /** Reports whether GET has returned an object, in this process or in the process that wrote the state. */
  private hasWorked({ kind, wasReadByGet = false }: ObjectRef): boolean {
    return this.of(kind).works || wasReadByGet;
  }

  private async confirmed(
    ref: ObjectRef,
    options: LookupOptions,
    findListed: () => Promise<LookupResult>,
  ): Promise<LookupResult | undefined> {
    const hasWorked = this.hasWorked(ref);
    try {
      const first = await this.once(ref, options);
      const result = first === undefined && hasWorked ? await this.once(ref, options) : first;
      if (result === undefined) this.of(ref.kind).refusals += 1;
      return result;
    } catch (error) {
      // If GET has worked, the token lacks a permission. Otherwise, the service may not support GET.
      if (!isCloudInfraError(error) || !isDenied(error) || this.hasWorked(ref)) throw error;
      const listed = await findListed();
      // The token may lack the permission to read the object, so the object may exist.
      if ("missing" in listed && !listed.isDeleted) throw error;
      this.of(ref.kind).denial = error;
      this.recordContradiction(ref);
      return listed;
    }
  }

  /** @returns `undefined` if the reply means that the service doesn't support GET */
  private async once(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    try {
      const found = await ref.kind.requests(this.client).get(ref.id, options);
      Object.assign(this.of(ref.kind), { works: true, refusals: 0, denial: undefined });
      this.of(ref.kind).contradicted.clear();
      this.onFound(ref, found);
      return toLookupResult(found, "get");
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "not_found") return { missing: "get" };
      if (!isCloudInfraError(error) || error.code !== "unsupported") throw error;
      return undefined;
    }
  }

  private recordContradiction({ kind, id }: ObjectRef): void {
    const learned = this.of(kind);
    if (learned.works) return;
    learned.contradicted.add(id);
    if (learned.contradicted.size >= ENOUGH_EVIDENCE) learned.refusals += ENOUGH_EVIDENCE;
  }

  /** Returns the knowledge about GET for a kind of object. */
  of({ name }: Kind): GetSupport {
    const learned = this.kinds.get(name) ?? new GetSupport();
    this.kinds.set(name, learned);
    return learned;
  }
}

export function isDenied({ code, status }: CloudInfraError): boolean {
  return code === "forbidden" || (code === "refused" && status === 400);
}

type LookupMethod = "get" | "list";

/** The result of a lookup, and its method. `isDeleted` means that the service returned the object as deleted. */
export type LookupResult =
  | { readonly found: ApiObject; readonly by: LookupMethod }
  | { readonly missing: LookupMethod; readonly isDeleted?: boolean };

/** A reference to the object to look up. `project` is undefined for a project. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly id: string;
  /** The project of the object, as the program sets it. */
  readonly project: string | undefined;
  /** The remote value of the project, if it differs. Either value may be the project's id, and the other one a name or a link. */
  readonly shownProject?: string | undefined;
  /** The creation date in the state. */
  readonly createdAt?: Recorded["createdAt"];
  /** Whether the state records that GET has returned the object. */
  readonly wasReadByGet?: boolean;
}

/** The limits of a lookup, and the progress messages while it waits. */
export interface LookupOptions extends CallOptions {
  readonly progress?: Pick<Progress, "during" | "pausing"> | undefined;
}

export function resultInList(objects: Objects, { id }: ObjectRef): LookupResult {
  return toLookupResult(objects.get(id), "list");
}

/** Determines whether an object exists. All lookups use the same criteria. */
export function toLookupResult(found: ApiObject | undefined, by: LookupMethod): LookupResult {
  if (found === undefined) return { missing: by };
  return isDeleted(found) ? { missing: by, isDeleted: true } : { found, by };
}

/**
 * Adds the fields and the revision that a later reply omits. Fields from a different revision may be outdated, so they are left out. A list
 * item without a revision may omit fields that the object still has.
 */
export function withOmittedFields(before: ApiObject, now: ApiObject): ApiObject {
  const { revision = before.revision } = now;
  const isCombined = now.isFromOwnUrl ? now.revision === before.revision : revision === before.revision;
  return {
    ...before,
    ...now,
    fields: isCombined ? { ...before.fields, ...now.fields } : now.fields,
    revision,
  };
}

/** The statuses of a deleted object that the service still returns. */
const DELETED_STATUS = /^(deleted|softdeleted|terminated|destroyed|removed|purged|expunged)$/;
/** The words that may accompany one of the statuses of a deleted object. Any other word may change the meaning, as in "to be deleted". */
const NEUTRAL_WORD = /^(soft|hard|instance|vm|server|machine|state|status)$/;

/** Reports whether the status of an object means that it was deleted, because some services keep returning deleted objects. */
export function isDeleted({ fields: { status } }: ApiObject): boolean {
  if (typeof status !== "string") return false;
  const words =
    status
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  return (
    words.some((word) => DELETED_STATUS.test(word)) &&
    words.every((word) => DELETED_STATUS.test(word) || NEUTRAL_WORD.test(word))
  );
}
