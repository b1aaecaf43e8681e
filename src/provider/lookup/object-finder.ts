import type { ApiObject, Client, Page } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Kind } from "../../model/resource-fields";
import { type Clock, deadlineIn, formatDuration, limitOf, remainingMs, within } from "../../polling/clock";
import type { PauseListener } from "../../polling/schedule";
import { ListCache, type Objects } from "./list-cache";
import {
  type LookupOptions,
  type LookupResult,
  ObjectGetter,
  type ObjectRef,
  resultInList,
  toLookupResult,
} from "./object-getter";

/** Looks up objects with GET, or in complete lists if they are cheaper or the service doesn't support GET (§4.3, §4.4). */
export class ObjectFinder {
  private readonly listCaches = new Map<string, ListCache>();
  readonly gets: ObjectGetter;
  /** The projects that the service has returned, directly or as the project of an instance. */
  private readonly projects = new Set<string | undefined>();
  /** The objects that the service has returned, with their most recent values. */
  private readonly shown = new Map<string, ApiObject>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    /** The timeout of a list, in milliseconds. The deadline of a single call doesn't apply, because several calls share a list. */
    private readonly listTimeoutMs: number,
  ) {
    this.gets = new ObjectGetter(client, (ref, object) => this.recordShown(ref, object));
  }

  /**
   * Looks up an object for a refresh. The result may be up to 30 s old. A single read sends a GET, and many reads share a list. If the list
   * is long and there are only a few reads, each read may send its own GET.
   */
  async findRecent(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    const cache = this.listCacheFor(ref);
    cache.recordRead();
    if (cache.current === undefined) await cache.otherReads();
    if (cache.current !== undefined || cache.reads > 1) {
      const isPatient = (): boolean => this.gets.isUnsupported(ref);
      const seen = await this.inTime(cache, cache.seek(ref.id, isPatient), ref, options);
      if (seen !== "costly") return toLookupResult(seen === "missing" ? undefined : seen, "list");
    }
    const alone = await this.get(ref, options);
    return alone ?? resultInList(await this.inTime(cache, cache.recent(), ref, options), ref);
  }

  /** Looks up an object without the cache. If the service doesn't support GET, the object is looked up in a list. */
  async find(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    return (await this.get(ref, options)) ?? this.findInList(ref, options);
  }

  /** Reads an object with GET. Returns `undefined` if the service doesn't support GET for this object. */
  private get(ref: ObjectRef, options: LookupOptions): Promise<LookupResult | undefined> {
    return this.gets.get(ref, options, () => this.findInList(ref, options));
  }

  /** Looks up an object in a complete list that is requested after this call. */
  async findInList(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    return resultInList(await this.list(ref, "fresh", options), ref);
  }

  /**
   * Looks up an object that this process has just deleted. One list confirms all deletions that were accepted before it started. If the
   * list has several pages, a GET is cheaper, because each deletion would otherwise read all pages.
   */
  async findAfterDeletion(ref: ObjectRef, options: LookupOptions): Promise<LookupResult> {
    const cache = this.listCacheFor(ref);
    if (!cache.latest?.isLong || this.gets.of(ref.kind).mayProbe) {
      const { objects, isWhole } = await this.inTime(cache, cache.firstPageAfterDeletions(), ref, options);
      if (isWhole || objects.has(ref.id)) return resultInList(objects, ref);
      await this.probeGet(ref.kind, objects, options);
    }
    const alone = this.gets.of(ref.kind).works ? await this.get(ref, options) : undefined;
    // GET may still return a deleted object long after the object has disappeared from the list.
    return alone !== undefined && "missing" in alone ? alone : this.findInList(ref, options);
  }

  /**
   * Looks up a missing object with a different method, because both lookups could otherwise fail for the same reason. A list confirms the
   * result of GET. GET confirms the result of a list, or a second list does if GET isn't known to work.
   *
   * @param last what to look up if only a second list can confirm the first lookup
   */
  async findAgain(
    ref: ObjectRef,
    first: LookupResult,
    options: LookupOptions,
    last = ref,
  ): Promise<LookupResult> {
    if ("found" in first || first.isDeleted) return first;
    if (first.missing === "list") {
      const result = await this.get(ref, options);
      if (result !== undefined && ("found" in result || this.gets.of(ref.kind).works)) return result;
      const again = await this.findInList(last, options);
      const { denial } = this.gets.of(ref.kind);
      // If GET was rejected with 403, a list may omit objects that the token can't read.
      if (denial !== undefined && "missing" in again && !again.isDeleted) throw denial;
      return again;
    }
    const objects = await this.list(ref, "fresh", options);
    const result = resultInList(objects, ref);
    if ("found" in result) return (await this.gets.getListed(ref, options)) ?? result;
    // If GET has never returned an object, a 404 proves nothing.
    await this.probeGet(ref.kind, objects, options);
    return this.gets.of(ref.kind).works ? result : this.findInList(last, options);
  }

  /** Lists all objects of a kind. @param age `recent`: up to 30 s old; `fresh`: requested after this call */
  list(ref: Omit<ObjectRef, "id">, age: "recent" | "fresh", options: LookupOptions): Promise<Objects> {
    const cache = this.listCacheFor(ref);
    return this.inTime(cache, age === "recent" ? cache.recent() : cache.fresh(), ref, options);
  }

  /** Reports whether the service has returned the object's project, or an instance in that project, to this token. */
  hasSeenProjectOf(ref: ObjectRef): boolean {
    return this.projects.has(projectOf(ref));
  }

  /** Records an object that the service has returned or is known to have deleted. */
  recordSeen(ref: ObjectRef): void {
    this.projects.add(projectOf(ref));
  }

  /** Returns the object as this process last read it, regardless of the age of the read. */
  lastSeen({ kind, id }: ObjectRef): ApiObject | undefined {
    return this.shown.get(`${kind.name} ${id}`);
  }

  private recordShown(ref: ObjectRef, object: ApiObject): void {
    this.recordSeen(ref);
    this.shown.set(`${ref.kind.name} ${ref.id}`, object);
  }

  /** Discards the cached lists. Must be called after each write of this process. */
  invalidate(): void {
    for (const cache of this.listCaches.values()) cache.invalidate();
  }

  /** Waits for a shared list until the deadline of the call. If one call times out, other calls keep waiting for the list. */
  private inTime<T>(
    cache: ListCache,
    work: Promise<T>,
    { kind }: Omit<ObjectRef, "id">,
    { deadline, signal: outer, progress }: LookupOptions,
  ): Promise<T> {
    const listing = `listing ${kind.name}s`;
    const untilDeadline = async (): Promise<T> => {
      const limit = limitOf(remainingMs(deadline, this.clock), this.clock, outer);
      try {
        return await within(limit.signal, work);
      } catch (error) {
        if (!limit.signal.aborted) throw error;
        if (outer?.aborted)
          throw new CloudInfraError("aborted", "the call was interrupted", { cause: outer.reason });
        throw new CloudInfraError("timeout", `timed out after ${formatDuration(deadline.ms)} ${listing}`);
      } finally {
        limit.release();
      }
    };
    const what = () => ({ for: `${listing} (page ${cache.latest?.pages ?? 0})`, pause: cache.pause });
    return progress?.during(what, untilDeadline) ?? untilDeadline();
  }

  private listCacheFor({ kind, project }: Omit<ObjectRef, "id">): ListCache {
    const key = JSON.stringify([kind.name, project]);
    let cache = this.listCaches.get(key);
    if (cache === undefined) {
      cache = new ListCache((progress) => this.pages(kind, project, progress), this.clock);
      this.listCaches.set(key, cache);
    }
    return cache;
  }

  private async *pages(
    kind: Kind,
    project: string | undefined,
    progress: PauseListener,
  ): AsyncIterable<Page> {
    const deadline = deadlineIn(this.listTimeoutMs, this.clock);
    for await (const page of kind.requests(this.client, project).pages({ deadline, progress })) {
      for (const object of page.objects) this.recordShown({ kind, id: object.id, project }, object);
      yield page;
    }
  }

  /** Tests whether GET works for objects of the page that was just read. Some of these objects may have been deleted in the meantime. */
  private async probeGet(kind: Kind, objects: Objects, options: LookupOptions): Promise<void> {
    const ids = [...objects.keys()];
    for (const id of [ids.at(-1), ids[0]]) {
      const support = this.gets.of(kind);
      if (id === undefined || !support.mayProbe) return;
      support.probes += 1;
      try {
        const ref = { kind, id, project: undefined };
        await this.gets.get(ref, options, async () => resultInList(objects, ref));
      } catch (error) {
        // The GET is only a test, so its failure must not affect the call.
        if (!isCloudInfraError(error)) throw error;
      }
    }
  }
}

function projectOf({ kind, id, project }: ObjectRef): string | undefined {
  return kind.name === "project" ? id : project;
}
