import type { ApiObject, Page } from "../../api/client";
import type { Clock } from "../../polling/clock";
import type { Pause, PauseListener } from "../../polling/schedule";

/** The number of reads that justify another page of a list. With fewer reads, a GET for each object is cheaper. */
const READS_PER_PAGE = 2;
/** The time in which several reads share one list, in milliseconds. */
const BATCH_WINDOW_MS = 20;
/** The idle time after which the count of reads starts again at zero, in milliseconds. */
const UNRELATED_AFTER_MS = 30_000;

/** The list is requested after this time without a finished deletion, in milliseconds, because the engine may start another one. */
const DELETION_PAUSE_MS = 50;
/** The maximum time that a list request waits for further deletions, in milliseconds. */
const MAX_DELETION_PAUSE_MS = 300;

/** Shares a single list request among calls that need the list at about the same time. */
export class ListCache implements PauseListener {
  pause: Pause | undefined;
  private listing: ListReading | undefined;
  /** The most recent list, even if a write has made it invalid. */
  latest: ListReading | undefined;
  private queued: Promise<ListReading> | undefined;
  /** The list that confirms all deletions since the start of the most recent list. */
  private confirmation: Promise<ListReading> | undefined;
  private window: Promise<void> | undefined;
  private lastDeletion = 0;
  private lastReadAt = Number.NEGATIVE_INFINITY;
  /** The number of reads in the current series since the last write. */
  reads = 0;

  constructor(
    private readonly pages: (progress: PauseListener) => AsyncIterable<Page>,
    private readonly clock: Clock,
  ) {}

  recordRead(): void {
    const now = this.clock.now();
    this.reads = now - this.lastReadAt > UNRELATED_AFTER_MS ? 1 : this.reads + 1;
    this.lastReadAt = now;
  }

  /** Waits a short time, so that other reads can share the list. */
  otherReads(): Promise<void> {
    this.window ??= this.clock.sleep(BATCH_WINDOW_MS).finally(() => {
      this.window = undefined;
    });
    return this.window;
  }

  /**
   * Searches a list that is at most 30 s old and not older than the last write. Reads further pages if necessary.
   *
   * @param isPatient whether to read all pages, even if a GET for each object would be cheaper
   * @returns `costly` if there were so few reads that a GET for each object is cheaper than further pages
   */
  async seek(id: string, isPatient: () => boolean): Promise<ApiObject | "missing" | "costly"> {
    const listing = this.current ?? this.begin();
    for (;;) {
      const found = listing.objects.get(id);
      if (found !== undefined) return found;
      if (listing.isWhole) return "missing";
      const pays = (listing.pages + 1) * READS_PER_PAGE <= this.reads;
      if (listing.work === undefined && !pays && !isPatient()) return "costly";
      await listing.next();
    }
  }

  /** Returns a complete list that is at most 30 s old and not older than the last write. */
  recent(): Promise<Objects> {
    return (this.current ?? this.begin()).whole();
  }

  /** Returns a complete list that is requested after this call. Calls during a list request share the next request. */
  async fresh(): Promise<Objects> {
    return (await this.startNew()).whole();
  }

  /** Returns the first page of a list that is requested after a series of deletions. A single list then confirms all deletions. */
  firstPageAfterDeletions(): Promise<ListReading> {
    this.lastDeletion = this.clock.now();
    this.confirmation ??= this.deletionsPause().then(async () => {
      this.confirmation = undefined;
      const listing = await this.startNew();
      await listing.first();
      return listing;
    });
    return this.confirmation;
  }

  /** Discards all pages, because this process has changed an object. */
  invalidate(): void {
    this.listing = undefined;
    this.reads = 0;
  }

  pausing(pause: Pause | undefined): void {
    this.pause = pause;
  }

  /** The recent list that `seek` can search, if any. */
  get current(): ListReading | undefined {
    return this.listing?.isUsable ? this.listing : undefined;
  }

  private async startNew(): Promise<ListReading> {
    const next = (): ListReading => {
      this.queued = undefined;
      const listing = this.begin();
      listing.first().catch(() => {}); // the waiting calls report the error
      return listing;
    };
    const work = this.latest?.work;
    if (work === undefined) return next();
    this.queued ??= work.then(next, next);
    return this.queued;
  }

  private async deletionsPause(): Promise<void> {
    const end = this.clock.now() + MAX_DELETION_PAUSE_MS;
    for (;;) {
      const left = Math.min(end, this.lastDeletion + DELETION_PAUSE_MS) - this.clock.now();
      if (left <= 0) return;
      await this.clock.sleep(left);
    }
  }

  private begin(): ListReading {
    this.listing = new ListReading(this.pages(this), this.clock);
    this.latest = this.listing;
    return this.listing;
  }
}

export type Objects = ReadonlyMap<string, ApiObject>;

const USABLE_FOR_MS = 30_000;

/** Reads a list page by page, but not further than necessary. */
export class ListReading {
  /** The objects on the pages that were read. If the list changes, two pages may contain the same object. */
  readonly objects = new Map<string, ApiObject>();
  pages = 0;
  isWhole = false;
  isLong = false;
  private isBroken = false;
  private page: Promise<void> | undefined;
  private beginning: Promise<void> | undefined;
  private end: Promise<Objects> | undefined;
  private readonly iterator: AsyncIterator<Page>;
  private usableFrom: number;

  constructor(
    pages: AsyncIterable<Page>,
    private readonly clock: Clock,
  ) {
    this.iterator = pages[Symbol.asyncIterator]();
    this.usableFrom = clock.now();
  }

  /** The requests in progress, which may fail. */
  get work(): Promise<unknown> | undefined {
    return this.isWhole || this.isBroken ? this.page : (this.end ?? this.page);
  }

  /** Reports whether the list is being read, or was read in the last 30 s. The age of an incomplete list starts with its first request. */
  get isUsable(): boolean {
    if (this.isBroken) return false;
    return this.work !== undefined || this.clock.now() - this.usableFrom <= USABLE_FOR_MS;
  }

  /** Reads the next page. Concurrent calls share one request. */
  next(): Promise<void> {
    this.page ??= this.read().finally(() => {
      this.page = undefined;
    });
    return this.page;
  }

  first(): Promise<void> {
    this.beginning ??= this.next();
    return this.beginning;
  }

  whole(): Promise<Objects> {
    this.end ??= this.readOn();
    return this.end;
  }

  private async readOn(): Promise<Objects> {
    while (!this.isWhole) await this.next();
    return this.objects;
  }

  private async read(): Promise<void> {
    if (this.isBroken) throw new Error("a list that failed can't be continued");
    this.pages += 1;
    try {
      const { value, done } = await this.iterator.next();
      for (const object of done ? [] : value.objects) this.objects.set(object.id, object);
      this.isWhole = done === true || value.isLast;
      this.isLong ||= !this.isWhole;
    } catch (error) {
      this.isBroken = true;
      throw error;
    }
    if (this.isWhole) this.usableFrom = this.clock.now();
  }
}
