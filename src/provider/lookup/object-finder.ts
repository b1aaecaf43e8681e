import type { ApiObject, CallOptions, Client, Page } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../../model/kinds";
import type { PauseListener } from "../../polling/backoff";
import { type Clock, deadlineIn, formatDuration, limitOf, remainingMs, within } from "../../polling/clock";
import { ListCache, type Objects } from "./list-cache";
import {
  type LookupOptions,
  type LookupResult,
  type ObjectRef,
  resultInList,
  toLookupResult,
} from "./lookup-result";
import { ObjectGetter } from "./object-getter";

/** Reads that arrive within this time of each other are served by one sweep. */
const BATCH_WINDOW_MS = 20;

/** What this process sees of the service: single objects where that is cheaper and offered, else whole lists (§4.3, §4.4). */
export class ObjectFinder {
  private readonly listCaches = new Map<string, ListCache>();
  private readonly windows = new Map<ListCache, Promise<void>>();
  private readonly gets: ObjectGetter;
  /** The projects that the service has shown, or has shown an instance of. */
  private readonly projects = new Set<string | undefined>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    /** How long a sweep may take: it serves others than the call that began it, and does not end at that call's deadline. */
    private readonly listTimeoutMs: number,
  ) {
    this.gets = new ObjectGetter(client, (ref) => this.recordSeen(ref));
  }

  /**
   * A look that may be up to 30 s old, for refreshes: many reads cost one sweep, a lone one a single GET, and a few of a list that is
   * long as many GETs and some pages.
   */
  async findRecent(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    const sweep = this.sweep(ref);
    sweep.recordRead();
    if (!sweep.usable) await this.waitForOtherReads(sweep);
    if (sweep.usable || sweep.reads > 1) {
      const isPatient = (): boolean => this.gets.isUnsupported(ref);
      const seen = await this.inTime(sweep, sweep.seek(ref.id, isPatient), ref, options);
      if (seen !== "costly") return toLookupResult(seen === "missing" ? undefined : seen, "sweep");
    }
    const alone = await this.gets.get(ref, options);
    return alone ?? resultInList(await this.inTime(sweep, sweep.recent(), ref, options), ref);
  }

  /** Whether only the list, which may lag, shows the object. */
  isListOnly(kind: Kind, id: string): boolean {
    return this.gets.isUnsupported({ kind, id });
  }

  /** A look that begins now: GET, or a sweep where GET is not offered. */
  async find(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    return (await this.gets.get(ref, options)) ?? this.findInList(ref, options);
  }

  /** A look in a whole list that begins now. */
  async findInList(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    return resultInList(await this.list(ref, "fresh", options), ref);
  }

  /**
   * A look for what this process has just deleted, that begins after this call: a sweep, which confirms all deletions that were accepted before
   * it began; or, where the list has more than one page and GET has been seen to work, a GET, for else each of many deletions would go through
   * all that is left.
   */
  async findAfterDeletion(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    const sweep = this.sweep(ref);
    if (!sweep.isLong || this.gets.mayProbe(ref.kind)) {
      const { objects, isWhole } = await this.inTime(sweep, sweep.firstPageAfterDeletions(), ref, options);
      if (isWhole || objects.has(ref.id)) return resultInList(objects, ref);
      await this.probeGet(ref.kind, objects, options);
    }
    const alone = this.gets.works(ref.kind) ? await this.gets.get(ref, options) : undefined;
    // What is deleted may be shown by itself for long after it has left the list.
    return alone !== undefined && "missing" in alone ? alone : this.findInList(ref, options);
  }

  /**
   * A look that does not share the weakness of the one before. After a sweep that is a GET; where GET is not offered, or has
   * not been seen to work, another sweep. After a GET it is a sweep.
   *
   * @param last what to look for if another sweep is all that can confirm the first look
   */
  async findAgain(
    ref: ObjectRef,
    first: LookupResult,
    options: LookupOptions,
    last = ref,
  ): Promise<LookupResult> {
    const bySweep = "missing" in first && first.missing === "sweep";
    if (bySweep) {
      const result = await this.gets.get(ref, options);
      if (result !== undefined && ("found" in result || this.gets.works(ref.kind))) return result;
    }
    if (bySweep) return this.findInList(last, options);
    const objects = await this.list(ref, "fresh", options);
    const result = resultInList(objects, ref);
    if ("found" in result) return (await this.gets.getListed(ref, options)) ?? result;
    // A 404 from an address that was never seen to work is no look.
    await this.probeGet(ref.kind, objects, options);
    return this.gets.works(ref.kind) ? result : this.findInList(last, options);
  }

  /** An item of a list, completed and corrected by GET; as it is if GET is not offered or doesn't find the object. */
  async completeListItem(item: ApiObject, ref: ObjectRef, options: LookupOptions): Promise<ApiObject> {
    const found = await this.gets.getAgain(ref, options);
    if (found === undefined) return item;
    const { fields, revision = item.revision } = found;
    return { ...item, ...found, fields: { ...item.fields, ...fields }, revision };
  }

  /** Every object of a kind in one list; see {@link findRecent} and {@link findInList}. */
  list(ref: Omit<ObjectRef, "id">, age: "recent" | "fresh", options: LookupOptions): Promise<Objects> {
    const sweep = this.sweep(ref);
    return this.inTime(sweep, age === "recent" ? sweep.recent() : sweep.fresh(), ref, options);
  }

  /** Whether the token has been seen to show the project that is sought or that the sought instance is in, or any instance in it. */
  hasSeenProjectOf(ref: ObjectRef): boolean {
    return this.projects.has(projectOf(ref));
  }

  /** Notes an object that the service has shown, or has deleted for certain. */
  recordSeen(ref: ObjectRef): void {
    this.projects.add(projectOf(ref));
  }

  /** After anything that this process wrote. */
  invalidate(): void {
    for (const sweep of this.listCaches.values()) sweep.invalidate();
  }

  private inTime<T>(
    listCacheFor: ListCache,
    work: Promise<T>,
    { kind }: Omit<ObjectRef, "id">,
    options: LookupOptions,
  ): Promise<T> {
    const list = `the list of ${kind.name}s`;
    const inTime = (): Promise<T> => withinOwnDeadline(work, options, this.clock, list);
    const what = () => ({ for: `page ${listCacheFor.page} of ${list}`, pause: listCacheFor.pause });
    return options.progress?.during(what, inTime) ?? inTime();
  }

  private sweep({ kind, project }: Omit<ObjectRef, "id">): ListCache {
    const key = JSON.stringify([kind.name, project]);
    let sweep = this.listCaches.get(key);
    if (sweep === undefined) {
      const pages = (progress: PauseListener): AsyncIterable<Page> =>
        kind.pages(this.client, project, { deadline: deadlineIn(this.listTimeoutMs, this.clock), progress });
      sweep = new ListCache((progress) => this.recording(pages(progress), kind, project), this.clock);
      this.listCaches.set(key, sweep);
    }
    return sweep;
  }

  private async *recording(pages: AsyncIterable<Page>, kind: Kind, project?: string): AsyncIterable<Page> {
    for await (const page of pages) {
      for (const { id } of page.objects) this.recordSeen({ kind, id, project });
      yield page;
    }
  }

  /** Whether GET works, by what a page has just shown; of that some may be gone by now. */
  private async probeGet(kind: Kind, objects: Objects, options: LookupOptions): Promise<void> {
    const ids = [...objects.keys()];
    for (const id of [ids.at(-1), ids[0]]) {
      if (id === undefined || !this.gets.mayProbe(kind)) return;
      this.gets.recordProbe(kind);
      try {
        await this.gets.get({ kind, id, project: undefined }, options);
      } catch (error) {
        // It is another object, asked for only to learn something.
        if (!isCloudInfraError(error)) throw error;
      }
    }
  }

  /** The moment in which other reads of the same list may arrive. */
  private waitForOtherReads(sweep: ListCache): Promise<void> {
    const open = this.windows.get(sweep);
    if (open !== undefined) return open;
    const window = this.clock.sleep(BATCH_WINDOW_MS).finally(() => this.windows.delete(sweep));
    this.windows.set(sweep, window);
    return window;
  }
}

function projectOf({ kind, id, project }: ObjectRef): string | undefined {
  return kind.name === "project" ? id : project;
}

/**
 * What others may be waiting for, too: each waits no longer than its own call may take, and the work goes on for the rest.
 *
 * @param what it is, for the words: `the list of instances`
 * @throws CloudInfraError `timeout`, `aborted`; whatever the work itself failed with
 */
async function withinOwnDeadline<T>(
  shared: Promise<T>,
  { deadline, signal: outer }: CallOptions,
  clock: Clock,
  what: string,
): Promise<T> {
  const limit = limitOf(remainingMs(deadline, clock), clock, outer);
  try {
    return await within(limit.signal, shared);
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    if (outer?.aborted) throw new CloudInfraError("aborted", "it was interrupted", { cause: outer.reason });
    throw new CloudInfraError(
      "timeout",
      `${what} did not come to its end within ${formatDuration(deadline.ms)}`,
    );
  } finally {
    limit.release();
  }
}
