import type { ApiObject, Client } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../kind";
import { type Look, type LookOptions, type Sought, seenAs } from "./look";

/** So many GETs of a kind are made only to learn whether GET works. */
const MOST_LESSONS = 6;
/** So many replies in a row that GET isn't offered, or doesn't find what a list shows, are enough evidence. */
const ENOUGH = 2;

/** What this process has learned about GET of single objects, which the specification doesn't show (§4.8), for one kind of object. */
class Learned {
  /** Whether GET has returned an object. */
  works = false;
  isRefused = false;
  refusals = 0;
  lessons = 0;
  /** The ids that GET doesn't find although a list shows them. The list may lag, so this says nothing about other ids. */
  readonly contradicted = new Set<string>();
}

/** GET of single objects, as long as the service offers it. */
export class Gets {
  private readonly kinds = new Map<Kind["name"], Learned>();

  /** @param onFound called for each object that GET returns */
  constructor(
    private readonly client: Client,
    private readonly onFound: (sought: Sought) => void,
  ) {}

  /** Whether GET has returned an object of this kind. */
  works(kind: Kind): boolean {
    return this.of(kind).works;
  }

  /** Whether the service doesn't offer GET of this object. */
  isOff({ kind, id }: Pick<Sought, "kind" | "id">): boolean {
    const { isRefused, contradicted } = this.of(kind);
    return isRefused || contradicted.has(id);
  }

  /**
   * Reads an object by itself. If GET has worked before, one reply that it isn't offered is not believed.
   *
   * @returns `undefined` if the service does not offer GET of this object
   */
  async look(sought: Sought, options: LookOptions): Promise<Look | undefined> {
    return this.isOff(sought) ? undefined : this.confirmed(sought, options);
  }

  /**
   * Reads an object by itself that a list shows although GET hasn't found it. A list may lag, and one reply may be an error: GET is repeated if it
   * has worked before.
   *
   * @returns `undefined` if GET doesn't find it
   */
  async lookAtShown(sought: Sought, options: LookOptions): Promise<Look | undefined> {
    const look = this.hasWorked(sought) ? await this.once(sought, options) : undefined;
    if (look !== undefined && "found" in look) return look;
    const learned = this.of(sought.kind);
    learned.contradicted.add(sought.id);
    if (learned.works) learned.contradicted.clear();
    if (learned.contradicted.size >= ENOUGH) this.refused(sought.kind, ENOUGH);
    return undefined;
  }

  /** Reads an object by itself that a list shows, even if one earlier reply says that GET isn't offered. */
  async insist(sought: Sought, options: LookOptions): Promise<ApiObject | undefined> {
    if (this.of(sought.kind).refusals >= ENOUGH) return undefined;
    const first = await this.confirmed(sought, options);
    const isMissing = first !== undefined && !("found" in first);
    const look = isMissing ? await this.lookAtShown(sought, options) : first;
    return look !== undefined && "found" in look ? look.found : undefined;
  }

  /** Whether another GET may be made only to learn whether GET works. */
  mayLearn(kind: Kind): boolean {
    const { works, isRefused, lessons } = this.of(kind);
    return !works && !isRefused && lessons < MOST_LESSONS;
  }

  /** Records such a GET. */
  learns(kind: Kind): void {
    this.of(kind).lessons += 1;
  }

  /** Whether GET has worked, in this process or in the one that wrote the state of the object. */
  private hasWorked({ kind, wasAlone = false }: Sought): boolean {
    return this.works(kind) || wasAlone;
  }

  private async confirmed(sought: Sought, options: LookOptions): Promise<Look | undefined> {
    const hasWorked = this.hasWorked(sought);
    const first = await this.once(sought, options);
    const look = first === undefined && hasWorked ? await this.once(sought, options) : first;
    if (look === undefined) this.refused(sought.kind);
    return look;
  }

  /** @returns `undefined` if the reply says that the service does not offer GET */
  private async once(sought: Sought, options: LookOptions): Promise<Look | undefined> {
    try {
      const found = await sought.kind.get(this.client, sought.id, options);
      Object.assign(this.of(sought.kind), { works: true, isRefused: false, refusals: 0 });
      this.of(sought.kind).contradicted.clear();
      this.onFound(sought);
      return seenAs(found, "get");
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

  private of({ name }: Kind): Learned {
    const learned = this.kinds.get(name) ?? new Learned();
    this.kinds.set(name, learned);
    return learned;
  }
}
