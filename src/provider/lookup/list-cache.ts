import type { ApiObject, Page } from "../../api/client";
import type { Pause, PauseListener } from "../../polling/backoff";
import type { Clock } from "../../polling/clock";

/**
 * One more page is read where so many reads have come for each page. Nobody knows how many are still to come, for the engine keeps
 * only a few in flight: so pages and single GETs grow together, until there are no more pages.
 */
const READS_PER_PAGE = 2;
/** Reads that come so long after each other, in milliseconds, have nothing to do with each other. */
const UNRELATED_AFTER_MS = 30_000;

/** The engine begins a deletion whenever another one ends. A list waits until no deletion has followed for this long, in milliseconds. */
const DELETION_PAUSE_MS = 50;
/** The longest that a list waits for further deletions, in milliseconds. */
const MAX_DELETION_PAUSE_MS = 300;

/** One list of the service, shared by all who ask for it at about the same time. */
export class ListCache implements PauseListener {
  /** What keeps its next page from being asked for. */
  pause: Pause | undefined;
  private listing: ListReading | undefined;
  /** The one begun last, also where it no longer counts. */
  private latest: ListReading | undefined;
  private queued: Promise<ListReading> | undefined;
  /** What confirms the deletions that have been accepted since the last list began. */
  private confirmation: Promise<ListReading> | undefined;
  private lastDeletion = 0;
  private lastReadAt = Number.NEGATIVE_INFINITY;
  private readCount = 0;

  constructor(
    private readonly pages: (progress: PauseListener) => AsyncIterable<Page>,
    private readonly clock: Clock,
  ) {}

  /** Whether something was seen that {@link seek} can look through. */
  get usable(): boolean {
    return this.current !== undefined;
  }

  /** Whether it had more than one page when it was read last. */
  get isLong(): boolean {
    return this.latest?.isLong ?? false;
  }

  /** How many pages were asked for. */
  get page(): number {
    return this.latest?.pages ?? 0;
  }

  /** Reads that have come one after the other, since nothing was written. */
  get reads(): number {
    return this.readCount;
  }

  /** One more read wants an object of this list. */
  recordRead(): void {
    const now = this.clock.now();
    this.readCount = now - this.lastReadAt > UNRELATED_AFTER_MS ? 1 : this.readCount + 1;
    this.lastReadAt = now;
  }

  /**
   * Looks for an object in what was seen of the list in the last 30 s and before nothing was written, and on further pages.
   *
   * @param isPatient whether to look through all pages, whatever they cost
   * @returns `costly` where so few reads have come that further pages would cost more than asking for each object by itself
   */
  async seek(id: string, isPatient: () => boolean): Promise<ApiObject | "missing" | "costly"> {
    const listing = this.current ?? this.begin();
    for (;;) {
      const found = listing.objects.get(id);
      if (found !== undefined) return found;
      if (listing.isWhole) return "missing";
      const pays = (listing.pages + 1) * READS_PER_PAGE <= this.readCount;
      if (!listing.isAtWork && !pays && !isPatient()) return "costly";
      await listing.next();
    }
  }

  /** A sweep that is running, or ended in the last 30 s and before nothing was written, or else a new one. */
  recent(): Promise<Objects> {
    return (this.current ?? this.begin()).whole();
  }

  /** A sweep that begins after this call. Callers that wait for the running one to end share the next. */
  fresh(): Promise<Objects> {
    return this.startNew((listing) => listing.whole());
  }

  /** The first page of one that begins after this call. */
  firstPage(): Promise<ListReading> {
    return this.startNew((listing) => listing.first().then(() => listing));
  }

  /** The first page of one that begins after this call, as soon as deletions stop following one another: it confirms all of them. */
  firstPageAfterDeletions(): Promise<ListReading> {
    this.lastDeletion = this.clock.now();
    this.confirmation ??= this.deletionsPause().then(() => {
      this.confirmation = undefined;
      return this.firstPage();
    });
    return this.confirmation;
  }

  /** This process has changed something: what was seen before no longer counts. */
  invalidate(): void {
    this.listing = undefined;
    this.readCount = 0;
  }

  pausing(pause: Pause | undefined): void {
    this.pause = pause;
  }

  private get current(): ListReading | undefined {
    return this.listing?.isUsable ? this.listing : undefined;
  }

  private startNew<T>(read: (listing: ListReading) => Promise<T>): Promise<T> {
    const work = this.latest?.work;
    if (work === undefined) return read(this.begin());
    const next = (): ListReading => {
      this.queued = undefined;
      const listing = this.begin();
      listing.first().catch(() => {}); // whoever waits for it is told
      return listing;
    };
    this.queued ??= work.then(next, next);
    return this.queued.then(read);
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

/** Every object of a list, by id. */
export type Objects = ReadonlyMap<string, ApiObject>;

const USABLE_FOR_MS = 30_000;

/** One reading of a list, from its first page on, as far as somebody asks. */
export class ListReading {
  /** What the pages so far have shown. While a list changes, the same object can show on two pages. */
  readonly objects = new Map<string, ApiObject>();
  /** How many pages were asked for. */
  pages = 0;
  isWhole = false;
  /** Whether it has more than one page. */
  isLong = false;
  private isBroken = false;
  private page: Promise<void> | undefined;
  private beginning: Promise<void> | undefined;
  private end: Promise<Objects> | undefined;
  private readonly iterator: AsyncIterator<Page>;
  private usableFrom: number;
  private restsFrom: number | undefined;
  private restedMs = 0;

  constructor(
    pages: AsyncIterable<Page>,
    private readonly clock: Clock,
  ) {
    this.iterator = pages[Symbol.asyncIterator]();
    this.usableFrom = clock.now();
  }

  /** Whether a page is under way. */
  get isAtWork(): boolean {
    return this.work !== undefined;
  }

  /** What is under way; it may fail. */
  get work(): Promise<unknown> | undefined {
    return this.isWhole || this.isBroken ? this.page : (this.end ?? this.page);
  }

  /** While it is being read and for 30 s afterwards; if somebody stops in the middle, for 30 s after it was begun. */
  get isUsable(): boolean {
    if (this.isBroken) return false;
    return this.isAtWork || this.clock.now() - this.usableFrom <= USABLE_FOR_MS;
  }

  /** The next page, which all share who ask for it now. Rejects with what the request failed with. */
  next(): Promise<void> {
    this.page ??= this.read().finally(() => {
      this.page = undefined;
    });
    return this.page;
  }

  /** The first page. */
  first(): Promise<void> {
    this.beginning ??= this.next();
    return this.beginning;
  }

  /** All pages. */
  whole(): Promise<Objects> {
    this.end ??= this.readOn();
    return this.end;
  }

  private async readOn(): Promise<Objects> {
    while (!this.isWhole) await this.next();
    return this.objects;
  }

  private async read(): Promise<void> {
    if (this.isBroken) throw new Error("a list that could not be read is begun anew, not read on");
    this.pages += 1;
    this.restedMs += this.clock.now() - (this.restsFrom ?? this.clock.now());
    try {
      const { value, done } = await this.iterator.next();
      for (const object of done ? [] : value.objects) this.objects.set(object.id, object);
      if (!done && !value.isLast) {
        this.isLong = true;
        return;
      }
      this.isWhole = true;
      // The rests between its pages make a list older than its end.
      this.usableFrom = this.clock.now() - this.restedMs;
    } catch (error) {
      this.isBroken = true;
      throw error;
    } finally {
      this.restsFrom = this.clock.now();
    }
  }
}
