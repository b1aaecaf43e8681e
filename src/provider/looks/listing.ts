import type { ApiObject, Page } from "../../api/client";
import type { Clock } from "../../operations/clock";

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
