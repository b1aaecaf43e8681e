import { type Row, tableOf } from "../table";
import { beats, type Cell, cellsDominated, dominates, figuresIn } from "./dominance";
import type { Figures } from "./simulate";
import type { Waiter } from "./waiter";

/** Formats the polls and overshoot of each waiter, and which waiters dominate the first one. */
export function figuresTable(cells: readonly Cell[], waiters: readonly Waiter[]): string {
  const [us, ...others] = waiters;
  const rows = cells.map((cell): Row => {
    const own = us && figuresIn(cell.figures, us);
    const masters = others.filter((other) => own && dominates(figuresIn(cell.figures, other), own));
    return [
      cell.kind,
      `${cell.seconds} s`,
      ...waiters.map((waiter) => figuresText(figuresIn(cell.figures, waiter))),
      masters.map(({ name }) => name).join(", ") || "–",
    ];
  });
  return tableOf(["progress", "duration", ...waiters.map(({ name }) => name), "dominated by"], rows);
}

/** Formats the number of cells in which the row's waiter dominates the column's waiter. */
export function dominanceTable(cells: readonly Cell[], waiters: readonly Waiter[]): string {
  const rows = waiters.map((by): Row => {
    const counts = waiters.map((other) =>
      by === other ? "" : String(cellsDominated(cells, by, other).length),
    );
    return [by.name, ...counts];
  });
  return tableOf([`dominates, of ${cells.length}`, ...waiters.map(({ name }) => name)], rows);
}

/**
 * Returns the cases that miss the goal: no peer dominates this package if progress is reported, and this package beats
 * adaptive peers.
 */
export function openGoals(cells: readonly Cell[], us: Waiter, peers: readonly Waiter[]): string[] {
  const open: string[] = [];
  for (const { kind, seconds, tellsProgress, figures } of cells) {
    const own = figuresIn(figures, us);
    for (const peer of peers) {
      const theirs = figuresIn(figures, peer);
      if (tellsProgress && dominates(theirs, own))
        open.push(`${kind}, ${seconds} s: dominated by ${peer.name}`);
      if (kind === "linear" && seconds >= 10 && peer.adaptive && !beats(own, theirs)) {
        open.push(
          `${kind}, ${seconds} s: doesn't have both fewer polls and less overshoot than ${peer.name}`,
        );
      }
    }
  }
  return open;
}

function figuresText({ polls, overshootMs, overshootP95Ms }: Figures): string {
  return `${polls.toFixed(1)} · ${secondsText(overshootMs)} (${secondsText(overshootP95Ms)})`;
}

function secondsText(ms: number): string {
  return (ms / 1_000).toFixed(ms < 9_950 ? 2 : 1);
}
