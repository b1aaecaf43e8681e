import type { Figures } from "./simulate";
import type { Waiter } from "./waiter";

/** The results of all waiters for one kind of operation and one duration. */
export interface Cell {
  readonly kind: string;
  readonly seconds: number;
  /** Whether the service reports progress. */
  readonly tellsProgress: boolean;
  readonly figures: ReadonlyMap<Waiter, Figures>;
}

/** Returns whether one waiter is at least as good in polls and in mean overshoot, and better in one of them. */
export function dominates(one: Figures, other: Figures): boolean {
  const asGood = one.polls <= other.polls && one.overshootMs <= other.overshootMs;
  return asGood && (one.polls < other.polls || one.overshootMs < other.overshootMs);
}

/** Returns whether one waiter is better in both. */
export function beats(one: Figures, other: Figures): boolean {
  return one.polls < other.polls && one.overshootMs < other.overshootMs;
}

/** Returns the cells in which one waiter dominates another. */
export function cellsDominated(cells: readonly Cell[], by: Waiter, other: Waiter): Cell[] {
  return cells.filter(({ figures }) => dominates(figuresIn(figures, by), figuresIn(figures, other)));
}

/** @throws TypeError if the waiter has no figures */
export function figuresIn(figures: ReadonlyMap<Waiter, Figures>, waiter: Waiter): Figures {
  const found = figures.get(waiter);
  if (found === undefined) throw new TypeError(`there are no figures of ${waiter.name}`);
  return found;
}
