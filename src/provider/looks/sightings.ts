import type { ApiObject, CallOptions, Client, Page } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Clock } from "../../operations/clock";
import { deadlineIn } from "../../operations/deadline";
import type { PauseSeen } from "../../operations/pause";
import type { Kind } from "../kind";
import type { Progress } from "../shown/progress";
import { isDeleted } from "./deleted";
import type { Objects } from "./listing";
import { inOwnTime } from "./own-time";
import { Sweep } from "./sweep";

type Way = "get" | "sweep";

/**
 * One look at the service for one object, and how it was looked for. `isDeleted`: the service says that it was deleted. `isGone`: the status
 * 410 says so, which a gateway may answer for the whole service.
 */
export type Look =
  | { readonly found: ApiObject; readonly by: Way }
  | { readonly missing: Way; readonly isDeleted?: boolean; readonly isGone?: boolean };

/** Which object is looked for. Of a project there is no project. */
export interface Sought {
  readonly kind: Kind;
  readonly id: string;
  readonly project: string | undefined;
}

/** How long a look may take, and where it is told what it waits for. */
interface LookOptions extends CallOptions {
  readonly progress?: Pick<Progress, "during" | "pausing"> | undefined;
}

/** Reads that arrive within this time of each other are served by one sweep. */
const COMPANY_MS = 20;

/** So many GETs of a kind are made only to learn whether GET works. */
const MOST_LESSONS = 6;

/** What this process sees of the service: single objects where that is cheaper and offered, else whole lists (§4.3, §4.4). */
export class Sightings {
  private readonly sweeps = new Map<string, Sweep>();
  private readonly windows = new Map<Sweep, Promise<void>>();
  private readonly lessons = new Map<string, number>();
  /** Whether GET of one object, which the specification does not show (§4.8), has been seen to work. */
  private readonly gets = new Map<Kind["name"], "works" | "not offered">();
  /** The projects that the service has shown, or has shown an instance of. */
  private readonly projects = new Set<string | undefined>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    /** How long a sweep may take: it serves others than the call that began it, and does not end at that call's deadline. */
    private readonly sweepMs: number,
  ) {}

  /**
   * A look that may be up to 30 s old, for refreshes: many reads cost one sweep, a lone one a single GET, and a few of a list that is
   * long as many GETs and some pages.
   */
  async recent(sought: Sought, options: LookOptions): Promise<Look> {
    const sweep = this.sweep(sought);
    sweep.arrive();
    if (!sweep.usable) await this.company(sweep);
    if (sweep.usable || sweep.reads > 1) {
      const isPatient = (): boolean => this.gets.get(sought.kind.name) === "not offered";
      const seen = await this.inTime(sweep, sweep.seek(sought.id, isPatient), sought, options);
      if (seen !== "costly") return seenAs(seen === "missing" ? undefined : seen, "sweep");
    }
    const alone = await this.get(sought, options);
    return alone ?? seenIn(await this.inTime(sweep, sweep.recent(), sought, options), sought);
  }

  /** Whether only the list, which may lag, shows objects of this kind. */
  isListOnly(kind: Kind): boolean {
    return this.gets.get(kind.name) === "not offered";
  }

  /** A look that begins now: GET, or a sweep where GET is not offered. */
  async fresh(sought: Sought, options: LookOptions): Promise<Look> {
    return (await this.get(sought, options)) ?? this.swept(sought, options);
  }

  /** A look in a whole list that begins now. */
  async swept(sought: Sought, options: LookOptions): Promise<Look> {
    return seenIn(await this.all(sought, "fresh", options), sought);
  }

  /**
   * A look for what this process has just deleted, that begins now: a sweep; or, where the list has more than one page and GET has
   * been seen to work, a GET, for else each of many deletions would go through all that is left.
   */
  async afterDeletion(sought: Sought, options: LookOptions): Promise<Look> {
    const sweep = this.sweep(sought);
    if (!sweep.isLong || this.mayLearn(sought.kind)) {
      const { objects, isWhole } = await this.inTime(sweep, sweep.first(), sought, options);
      if (isWhole || objects.has(sought.id)) return seenIn(objects, sought);
      await this.learn(sought.kind, objects, options);
    }
    const works = this.gets.get(sought.kind.name) === "works";
    const alone = works ? await this.get(sought, options) : undefined;
    // What is deleted may be shown by itself for long after it has left the list.
    return alone !== undefined && "missing" in alone ? alone : this.swept(sought, options);
  }

  /**
   * A look that does not share the weakness of the one before. After a sweep that is a GET; where GET is not offered, or has
   * not been seen to work, another sweep. After a GET it is a sweep.
   */
  async second(sought: Sought, first: Look, options: LookOptions): Promise<Look> {
    const bySweep = "missing" in first && first.missing === "sweep";
    if (bySweep) {
      const look = await this.get(sought, options);
      if (look !== undefined && ("found" in look || this.gets.get(sought.kind.name) === "works")) return look;
    }
    const objects = await this.all(sought, "fresh", options);
    const look = seenIn(objects, sought);
    if (bySweep) return look;
    if ("found" in look) {
      this.getFailed(sought.kind);
      return look;
    }
    // A 404 from an address that was never seen to work is no look.
    await this.learn(sought.kind, objects, options);
    return this.gets.get(sought.kind.name) === "works" ? look : this.swept(sought, options);
  }

  /** An item of a list, completed and corrected by GET; as it is if GET is not offered or doesn't find the object. */
  async completed(item: ApiObject, sought: Sought, options: LookOptions): Promise<ApiObject> {
    const look = await this.get(sought, options);
    if (look === undefined) return item;
    if ("found" in look) {
      const { fields, revision = item.revision, isAlone } = look.found;
      return { ...item, fields: { ...item.fields, ...fields }, revision, isAlone };
    }
    this.getFailed(sought.kind);
    return item;
  }

  /** Every object of a kind in one list; see {@link recent} and {@link swept}. */
  all(sought: Omit<Sought, "id">, age: "recent" | "fresh", options: LookOptions): Promise<Objects> {
    const sweep = this.sweep(sought);
    return this.inTime(sweep, age === "recent" ? sweep.recent() : sweep.after(), sought, options);
  }

  /** If the list shows an object, a GET that doesn't find it is not offered by the service, unless it has worked before. */
  private getFailed({ name }: Kind): void {
    if (this.gets.get(name) !== "works") this.gets.set(name, "not offered");
  }

  /** Whether the token has been seen to show the project that is sought or that the sought instance is in, or any instance in it. */
  hasShown(sought: Sought): boolean {
    return this.projects.has(projectOf(sought));
  }

  /** Notes an object that the service has shown, or has deleted for certain. */
  shows(sought: Sought): void {
    this.projects.add(projectOf(sought));
  }

  /** After anything that this process wrote. */
  forget(): void {
    for (const sweep of this.sweeps.values()) sweep.forget();
  }

  private inTime<T>(
    sweep: Sweep,
    work: Promise<T>,
    { kind }: Omit<Sought, "id">,
    options: LookOptions,
  ): Promise<T> {
    const list = `the list of ${kind.name}s`;
    const inTime = (): Promise<T> => inOwnTime(work, options, this.clock, list);
    const what = () => ({ for: `page ${sweep.page} of ${list}`, pause: sweep.pause });
    return options.progress?.during(what, inTime) ?? inTime();
  }

  private sweep({ kind, project }: Omit<Sought, "id">): Sweep {
    const key = JSON.stringify([kind.name, project]);
    let sweep = this.sweeps.get(key);
    if (sweep === undefined) {
      const pages = (progress: PauseSeen): AsyncIterable<Page> =>
        kind.pages(this.client, project, { deadline: deadlineIn(this.sweepMs, this.clock), progress });
      sweep = new Sweep((progress) => this.noting(pages(progress), kind, project), this.clock);
      this.sweeps.set(key, sweep);
    }
    return sweep;
  }

  private async *noting(pages: AsyncIterable<Page>, kind: Kind, project?: string): AsyncIterable<Page> {
    for await (const page of pages) {
      for (const { id } of page.objects) this.shows({ kind, id, project });
      yield page;
    }
  }

  private mayLearn({ name }: Kind): boolean {
    return !this.gets.has(name) && (this.lessons.get(name) ?? 0) < MOST_LESSONS;
  }

  /** Whether GET works, by what a page has just shown; of that some may be gone by now. */
  private async learn(kind: Kind, objects: Objects, options: LookOptions): Promise<void> {
    const ids = [...objects.keys()];
    for (const id of [ids.at(-1), ids[0]]) {
      if (id === undefined || !this.mayLearn(kind)) return;
      this.lessons.set(kind.name, (this.lessons.get(kind.name) ?? 0) + 1);
      try {
        await this.get({ kind, id, project: undefined }, options);
      } catch (error) {
        // It is another object, asked for only to learn something.
        if (!isCloudInfraError(error)) throw error;
      }
    }
  }

  /** The moment in which other reads of the same list may arrive. */
  private company(sweep: Sweep): Promise<void> {
    const open = this.windows.get(sweep);
    if (open !== undefined) return open;
    const window = this.clock.sleep(COMPANY_MS).finally(() => this.windows.delete(sweep));
    this.windows.set(sweep, window);
    return window;
  }

  /** @returns `undefined` where the service does not offer GET of this kind */
  private async get({ kind, id, project }: Sought, options: LookOptions): Promise<Look | undefined> {
    if (this.gets.get(kind.name) === "not offered") return undefined;
    try {
      const found = await kind.get(this.client, id, options);
      this.gets.set(kind.name, "works");
      this.shows({ kind, id, project });
      return seenAs(found, "get");
    } catch (error) {
      if (isCloudInfraError(error) && error.code === "not_found")
        return error.status === 410 ? { missing: "get", isGone: true } : { missing: "get" };
      if (!isCloudInfraError(error) || error.code !== "unsupported") throw error;
      this.gets.set(kind.name, "not offered");
      return undefined;
    }
  }
}

function projectOf({ kind, id, project }: Sought): string | undefined {
  return kind.name === "project" ? id : project;
}

function seenIn(objects: Objects, { id }: Sought): Look {
  return seenAs(objects.get(id), "sweep");
}

/** The one place that decides whether an object exists for reads, updates, deletions and lookups alike. */
function seenAs(found: ApiObject | undefined, by: Way): Look {
  if (found === undefined) return { missing: by };
  return isDeleted(found) ? { missing: by, isDeleted: true } : { found, by };
}
