interface Entry<T> {
  readonly position: number;
  readonly item: T;
}

/** Objects by id, and in the order in which they came: the order of lists, steady while objects come and go. */
export class Collection<T extends { readonly id: string }> {
  private readonly items = new Map<string, T>();
  private readonly positions = new Map<string, number>();
  private readonly ordered: Entry<T>[] = [];
  private last = 0;

  readonly byId: ReadonlyMap<string, T> = this.items;

  add(item: T): void {
    if (this.items.has(item.id)) return;
    this.last += 1;
    this.items.set(item.id, item);
    this.positions.set(item.id, this.last);
    this.ordered.push({ position: this.last, item });
  }

  remove(id: string): boolean {
    const position = this.positions.get(id);
    if (position === undefined) return false;
    this.items.delete(id);
    this.positions.delete(id);
    this.ordered.splice(this.indexAfter(position) - 1, 1);
    return true;
  }

  /** Everything that came after that position; 0: everything. */
  *after(position: number): Generator<Entry<T>> {
    for (let index = this.indexAfter(position); index < this.ordered.length; index++) {
      const entry = this.ordered[index];
      if (entry !== undefined) yield entry;
    }
  }

  private indexAfter(position: number): number {
    let low = 0;
    let high = this.ordered.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ordered[middle]?.position ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
