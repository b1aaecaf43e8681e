import type { ApiObject, Client, Page } from "../../api/client";
import { isCloudInfraError } from "../../diagnostics/error";
import type { Clock } from "../../operations/clock";
import { deadlineIn } from "../../operations/deadline";
import type { PauseSeen } from "../../operations/pause";
import type { Kind } from "../kind";
import { Gets } from "./gets";
import type { Objects } from "./listing";
import { type Look, type LookOptions, type Sought, seenAs, seenIn } from "./look";
import { inOwnTime } from "./own-time";
import { Sweep } from "./sweep";

/** Reads that arrive within this time of each other are served by one sweep. */
const COMPANY_MS = 20;

/** What this process sees of the service: single objects where that is cheaper and offered, else whole lists (§4.3, §4.4). */
export class Sightings {
  private readonly sweeps = new Map<string, Sweep>();
  private readonly windows = new Map<Sweep, Promise<void>>();
  private readonly gets: Gets;
  /** The projects that the service has shown, or has shown an instance of. */
  private readonly projects = new Set<string | undefined>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    /** How long a sweep may take: it serves others than the call that began it, and does not end at that call's deadline. */
    private readonly sweepMs: number,
  ) {
    this.gets = new Gets(client, (sought) => this.shows(sought));
  }

  /**
   * A look that may be up to 30 s old, for refreshes: many reads cost one sweep, a lone one a single GET, and a few of a list that is
   * long as many GETs and some pages.
   */
  async recent(sought: Sought, options: LookOptions): Promise<Look> {
    const sweep = this.sweep(sought);
    sweep.arrive();
    if (!sweep.usable) await this.company(sweep);
    if (sweep.usable || sweep.reads > 1) {
      const isPatient = (): boolean => this.gets.isOff(sought);
      const seen = await this.inTime(sweep, sweep.seek(sought.id, isPatient), sought, options);
      if (seen !== "costly") return seenAs(seen === "missing" ? undefined : seen, "sweep");
    }
    const alone = await this.gets.look(sought, options);
    return alone ?? seenIn(await this.inTime(sweep, sweep.recent(), sought, options), sought);
  }

  /** Whether only the list, which may lag, shows the object. */
  isListOnly(kind: Kind, id: string): boolean {
    return this.gets.isOff({ kind, id });
  }

  /** A look that begins now: GET, or a sweep where GET is not offered. */
  async fresh(sought: Sought, options: LookOptions): Promise<Look> {
    return (await this.gets.look(sought, options)) ?? this.swept(sought, options);
  }

  /** A look in a whole list that begins now. */
  async swept(sought: Sought, options: LookOptions): Promise<Look> {
    return seenIn(await this.all(sought, "fresh", options), sought);
  }

  /**
   * A look for what this process has just deleted, that begins after this call: a sweep, which confirms all deletions that were accepted before
   * it began; or, where the list has more than one page and GET has been seen to work, a GET, for else each of many deletions would go through
   * all that is left.
   */
  async afterDeletion(sought: Sought, options: LookOptions): Promise<Look> {
    const sweep = this.sweep(sought);
    if (!sweep.isLong || this.gets.mayLearn(sought.kind)) {
      const { objects, isWhole } = await this.inTime(sweep, sweep.firstAfterDeletions(), sought, options);
      if (isWhole || objects.has(sought.id)) return seenIn(objects, sought);
      await this.learn(sought.kind, objects, options);
    }
    const alone = this.gets.works(sought.kind) ? await this.gets.look(sought, options) : undefined;
    // What is deleted may be shown by itself for long after it has left the list.
    return alone !== undefined && "missing" in alone ? alone : this.swept(sought, options);
  }

  /**
   * A look that does not share the weakness of the one before. After a sweep that is a GET; where GET is not offered, or has
   * not been seen to work, another sweep. After a GET it is a sweep.
   *
   * @param last what to look for if another sweep is all that can confirm the first look
   */
  async second(sought: Sought, first: Look, options: LookOptions, last = sought): Promise<Look> {
    const bySweep = "missing" in first && first.missing === "sweep";
    if (bySweep) {
      const look = await this.gets.look(sought, options);
      if (look !== undefined && ("found" in look || this.gets.works(sought.kind))) return look;
    }
    if (bySweep) return this.swept(last, options);
    const objects = await this.all(sought, "fresh", options);
    const look = seenIn(objects, sought);
    if ("found" in look) return (await this.gets.lookAtShown(sought, options)) ?? look;
    // A 404 from an address that was never seen to work is no look.
    await this.learn(sought.kind, objects, options);
    return this.gets.works(sought.kind) ? look : this.swept(last, options);
  }

  /** An item of a list, completed and corrected by GET; as it is if GET is not offered or doesn't find the object. */
  async completed(item: ApiObject, sought: Sought, options: LookOptions): Promise<ApiObject> {
    const found = await this.gets.insist(sought, options);
    if (found === undefined) return item;
    const { fields, revision = item.revision } = found;
    return { ...item, ...found, fields: { ...item.fields, ...fields }, revision };
  }

  /** Every object of a kind in one list; see {@link recent} and {@link swept}. */
  all(sought: Omit<Sought, "id">, age: "recent" | "fresh", options: LookOptions): Promise<Objects> {
    const sweep = this.sweep(sought);
    return this.inTime(sweep, age === "recent" ? sweep.recent() : sweep.after(), sought, options);
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

  /** Whether GET works, by what a page has just shown; of that some may be gone by now. */
  private async learn(kind: Kind, objects: Objects, options: LookOptions): Promise<void> {
    const ids = [...objects.keys()];
    for (const id of [ids.at(-1), ids[0]]) {
      if (id === undefined || !this.gets.mayLearn(kind)) return;
      this.gets.learns(kind);
      try {
        await this.gets.look({ kind, id, project: undefined }, options);
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
}

function projectOf({ kind, id, project }: Sought): string | undefined {
  return kind.name === "project" ? id : project;
}
