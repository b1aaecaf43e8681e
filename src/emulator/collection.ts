/** What a read shows: objects as they were at a time, and after a request. */
export interface Moment {
  readonly at: number;
  readonly request: number;
  /** What is shown as it was then; all else is shown as it is now. */
  readonly part: "all" | "fields" | "objects";
  /** Whether objects remain visible after their deletion. */
  readonly deleted: boolean;
}

/** What a collection needs to date changes. */
export interface Chronicle {
  readonly now: () => number;
  /** Number of the latest request. */
  readonly requests: number;
  /** No read goes back further than that. */
  oldest(): { readonly at: number; readonly request: number };
}

interface Stored {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What an object was like from a change on; without `item`, it was gone. */
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

/** A place in a list, and the object in it. */
export interface Entry<T> {
  readonly position: number;
  readonly item: T;
}

/** Objects by id, with as much of their past as reads show, in the order of their creation, which is the order of lists. */
export class Collection<T extends Stored> {
  private readonly held = new Map<string, T>();
  private readonly lineOf = new Map<string, Line<T>>();
  private lines: Line<T>[] = [];
  private last = 0;

  /** What there is now. */
  readonly byId: ReadonlyMap<string, T> = this.held;

  constructor(private readonly chronicle: Chronicle) {}

  add(item: T, at = this.chronicle.now()): void {
    if (this.held.has(item.id)) return;
    this.last += 1;
    const line: Line<T> = { position: this.last, item, versions: [] };
    this.held.set(item.id, item);
    this.lineOf.set(item.id, line);
    this.lines.push(line);
    this.record(line, at, copyOf(item));
  }

  /** To be called after each change of an object. */
  changed(item: T, at = this.chronicle.now()): void {
    const line = this.lineOf.get(item.id);
    if (line?.item === item) this.record(line, at, copyOf(item));
  }

  /** Removes an object. `left` remains visible for so many milliseconds. */
  remove(id: string, at = this.chronicle.now(), left?: { readonly item: T; readonly ms: number }): boolean {
    const line = this.lineOf.get(id);
    if (line === undefined) return false;
    this.held.delete(id);
    this.lineOf.delete(id);
    if (left !== undefined) this.record(line, at, left.item, true);
    if (left === undefined || Number.isFinite(left.ms)) this.record(line, at + (left?.ms ?? 0), undefined);
    this.forget();
    return true;
  }

  /** Whether this very object is there: another one may have been given its id. */
  holds(item: T): boolean {
    return this.held.get(item.id) === item;
  }

  /** The object with this id as a read shows it. */
  shown(id: string, moment: Moment): T | undefined {
    const line = this.lineOf.get(id);
    const item = line && this.shownOf(line, moment);
    if (item !== undefined) return item;
    const earlier = this.lines.findLast(
      (one) => one.item.id === id && this.shownOf(one, moment) !== undefined,
    );
    return earlier && this.shownOf(earlier, moment);
  }

  /** All objects after that position as a list shows them; 0: all. */
  *after(position: number, moment: Moment): Generator<Entry<T>> {
    for (let index = this.indexAfter(position); index < this.lines.length; index++) {
      const line = this.lines[index];
      const item = line && this.shownOf(line, moment);
      if (line !== undefined && item !== undefined) yield { position: line.position, item };
    }
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
    // The object itself, not its copy: tests may change it without a word.
    const isLatest = index === line.versions.length - 1 && this.held.get(line.item.id) === line.item;
    return isLatest ? line.item : version.item;
  }

  private record(line: Line<T>, at: number, item: T | undefined, deleted = false): void {
    const request = this.chronicle.requests;
    line.versions.push({ at, request, item, ...(deleted && { deleted }) });
    const oldest = this.chronicle.oldest();
    const first = line.versions.findLastIndex((one) => one.at <= oldest.at && one.request <= oldest.request);
    if (first > 0) line.versions = line.versions.slice(first);
  }

  /** Drops the lines of objects that no read shows any more. */
  private forget(): void {
    const oldest = this.chronicle.oldest();
    this.lines = this.lines.filter(({ versions }) => {
      const last = versions.at(-1);
      return last?.item !== undefined || (last?.at ?? 0) > oldest.at || (last?.request ?? 0) > oldest.request;
    });
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
