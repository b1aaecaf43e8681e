/** A past moment, given by a time and a request number. A read returns no changes after the moment. */
export interface Moment {
  readonly at: number;
  readonly request: number;
  /** The part of the data that lags. All other data is current. */
  readonly part: "all" | "fields" | "objects";
  /** Whether deleted objects are visible. */
  readonly deleted: boolean;
}

/** The source of times and request numbers for a collection. */
export interface Chronicle {
  readonly now: () => number;
  /** The number of the current request. */
  readonly requests: number;
  /** Returns the earliest moment that a lagging read may still use. */
  oldest(): { readonly at: number; readonly request: number };
}

interface Stored {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The state of an object between two changes. If `item` is missing, the object doesn't exist. */
interface Version<T> {
  readonly at: number;
  readonly request: number;
  readonly item: T | undefined;
  readonly deleted?: true;
}

interface Line<T> {
  readonly position: number;
  readonly item: T;
  versions: Version<T>[];
}

/** An object and its position in lists. */
export interface CollectionEntry<T> {
  readonly position: number;
  readonly item: T;
}

/** A collection of objects by id, in the order of creation. The collection keeps past versions of objects for lagging reads. */
export class Collection<T extends Stored> {
  private readonly held = new Map<string, T>();
  /** The histories of all objects, in the order of their positions. */
  private readonly lines: Line<T>[] = [];
  /** The histories of all objects by id. An id has several histories if it was reused. */
  private readonly linesById = new Map<string, Line<T>[]>();
  /** The histories of deleted objects, which lagging reads may still return. */
  private readonly past = new Set<Line<T>>();
  private last = 0;

  /** The current objects. */
  readonly byId: ReadonlyMap<string, T> = this.held;

  constructor(private readonly chronicle: Chronicle) {}

  add(item: T, at = this.chronicle.now()): void {
    if (this.held.has(item.id)) return;
    this.last += 1;
    const line: Line<T> = { position: this.last, item, versions: [] };
    this.held.set(item.id, item);
    this.lines.push(line);
    this.linesById.set(item.id, [...this.linesOf(item.id), line]);
    this.record(line, at, copyOf(item));
  }

  /** Records a new version of an object. Must be called after each change of the object. */
  changed(item: T, at = this.chronicle.now()): void {
    const line = this.linesOf(item.id).at(-1);
    if (line !== undefined && this.holds(item)) this.record(line, at, copyOf(item));
  }

  /**
   * Removes an object. If `left` is given, that item remains visible for the given number of milliseconds. Returns `false` if no object has
   * the id.
   */
  remove(id: string, at = this.chronicle.now(), left?: { readonly item: T; readonly ms: number }): boolean {
    const line = this.linesOf(id).at(-1);
    if (line === undefined || !this.held.delete(id)) return false;
    if (left !== undefined) this.record(line, at, left.item, true);
    if (left === undefined || Number.isFinite(left.ms)) this.record(line, at + (left?.ms ?? 0), undefined);
    this.past.add(line);
    this.forget();
    return true;
  }

  /** Reports whether this object still exists. A different object may have the same id by now. */
  holds(item: T): boolean {
    return this.held.get(item.id) === item;
  }

  /** Returns the object with the given id in the version that was visible at a moment. */
  shown(id: string, moment: Moment): T | undefined {
    const shown = this.linesOf(id).map((line) => this.shownOf(line, moment));
    return shown.findLast((item) => item !== undefined);
  }

  /** Returns all objects after a position in the versions that were visible at a moment. The first position is 1. */
  *after(position: number, moment: Moment): Generator<CollectionEntry<T>> {
    for (let index = this.indexAfter(position); index < this.lines.length; index++) {
      const line = this.lines[index];
      const item = line && this.shownOf(line, moment);
      if (line !== undefined && item !== undefined) yield { position: line.position, item };
    }
  }

  private linesOf(id: string): readonly Line<T>[] {
    return this.linesById.get(id) ?? [];
  }

  private shownOf(line: Line<T>, moment: Moment): T | undefined {
    const then = this.versionOf(line, moment.at, moment.request, moment.deleted);
    if (moment.part === "all") return then;
    const now = this.versionOf(line, this.chronicle.now(), Number.POSITIVE_INFINITY, moment.deleted);
    const first = line.versions.find(({ item }) => item !== undefined)?.item;
    if (moment.part === "fields") return now && (then ?? first);
    return then && (now ?? line.versions.findLast(({ item }) => item !== undefined)?.item);
  }

  private versionOf(line: Line<T>, at: number, request: number, deleted: boolean): T | undefined {
    const index = line.versions.findLastIndex((one) => one.at <= at && one.request <= request);
    const version = line.versions[index];
    if (version === undefined || (version.deleted && !deleted)) return undefined;
    // The object itself is returned instead of a copy, because tests may change the object directly.
    const isLatest = index === line.versions.length - 1 && this.holds(line.item);
    return isLatest ? line.item : version.item;
  }

  private record(line: Line<T>, at: number, item: T | undefined, deleted = false): void {
    const request = this.chronicle.requests;
    line.versions.push({ at, request, item, ...(deleted && { deleted }) });
    const oldest = this.chronicle.oldest();
    const first = line.versions.findLastIndex((one) => one.at <= oldest.at && one.request <= oldest.request);
    if (first > 0) line.versions = line.versions.slice(first);
  }

  /** Drops the histories of deleted objects that no read returns. */
  private forget(): void {
    const oldest = this.chronicle.oldest();
    for (const line of this.past) {
      const last = line.versions.at(-1);
      if (last === undefined || last.item !== undefined) continue;
      if (last.at > oldest.at || last.request > oldest.request) continue;
      this.past.delete(line);
      this.lines.splice(this.indexAfter(line.position) - 1, 1);
      const { id } = line.item;
      const others = this.linesOf(id).filter((one) => one !== line);
      if (others.length === 0) this.linesById.delete(id);
      else this.linesById.set(id, others);
    }
  }

  private indexAfter(position: number): number {
    let low = 0;
    let high = this.lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.lines[middle]?.position ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function copyOf<T extends Stored>(item: T): T {
  return { ...item, fields: { ...item.fields } };
}
