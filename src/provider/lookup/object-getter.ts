import type { ApiObject, Client } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../../model/kinds";
import { type LookupOptions, type LookupResult, type ObjectRef, toLookupResult } from "./lookup-result";

/** So many GETs of a kind are made only to learn whether GET works. */
const MAX_PROBES = 6;
/** So many replies in a row that GET isn't offered, or doesn't find what a list shows, are enough evidence. */
const ENOUGH_EVIDENCE = 2;

/** What this process has learned about GET of single objects, which the specification doesn't show (§4.8), for one kind of object. */
class GetSupport {
  /** Whether GET has returned an object. */
  works = false;
  isRefused = false;
  refusals = 0;
  probes = 0;
  /** The ids that GET doesn't find although a list shows them. The list may lag, so this says nothing about other ids. */
  readonly contradicted = new Set<string>();
}

/** GET of single objects, as long as the service offers it. */
export class ObjectGetter {
  private readonly kinds = new Map<Kind["name"], GetSupport>();

  /** @param onFound called for each object that GET returns */
  constructor(
    private readonly client: Client,
    private readonly onFound: (ref: ObjectRef) => void,
  ) {}

  /** Whether GET has returned an object of this kind. */
  works(kind: Kind): boolean {
    return this.of(kind).works;
  }

  /** Whether the service doesn't offer GET of this object. */
  isUnsupported({ kind, id }: Pick<ObjectRef, "kind" | "id">): boolean {
    const { isRefused, contradicted } = this.of(kind);
    return isRefused || contradicted.has(id);
  }

  /**
   * Reads an object by itself. If GET has worked before, one reply that it isn't offered is not believed.
   *
   * @returns `undefined` if the service does not offer GET of this object
   */
  async get(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    return this.isUnsupported(ref) ? undefined : this.confirmed(ref, options);
  }

  /**
   * Reads an object by itself that a list shows although GET hasn't found it. A list may lag, and one reply may be an error: GET is repeated if it
   * has worked before.
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

  /** Reads an object by itself that a list shows, even if one earlier reply says that GET isn't offered. */
  async getAgain(ref: ObjectRef, options: LookupOptions): Promise<ApiObject | undefined> {
    if (this.of(ref.kind).refusals >= ENOUGH_EVIDENCE) return undefined;
    const first = await this.confirmed(ref, options);
    const isMissing = first !== undefined && !("found" in first);
    const result = isMissing ? await this.getListed(ref, options) : first;
    return result !== undefined && "found" in result ? result.found : undefined;
  }

  /** Whether another GET may be made only to learn whether GET works. */
  mayProbe(kind: Kind): boolean {
    const { works, isRefused, probes } = this.of(kind);
    return !works && !isRefused && probes < MAX_PROBES;
  }

  /** Records such a GET. */
  recordProbe(kind: Kind): void {
    this.of(kind).probes += 1;
  }

  /** Whether GET has worked, in this process or in the one that wrote the state of the object. */
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

  /** @returns `undefined` if the reply says that the service does not offer GET */
  private async once(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    try {
      const found = await ref.kind.get(this.client, ref.id, options);
      Object.assign(this.of(ref.kind), { works: true, isRefused: false, refusals: 0 });
      this.of(ref.kind).contradicted.clear();
      this.onFound(ref);
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
