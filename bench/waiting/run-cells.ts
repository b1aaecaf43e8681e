import type { Cell } from "./dominance";
import type { Kind, Sampling } from "./operation";
import { type Figures, simulate } from "./simulate";
import type { Waiter } from "./waiter";

/** Simulates each waiter in each cell. Cells that differ only in what a waiter ignores share one simulation. */
export async function runCells(
  waiters: readonly Waiter[],
  kinds: readonly Kind[],
  durations: readonly number[],
  sampling: Sampling,
): Promise<Cell[]> {
  const known = new Map<string, Figures>();
  const cells: Cell[] = [];
  for (const kind of kinds) {
    for (const seconds of durations) {
      const figures = new Map<Waiter, Figures>();
      for (const waiter of waiters) {
        const key = `${waiter.name}/${seconds}/${JSON.stringify(whatCounts(waiter, kind))}`;
        const found = known.get(key) ?? (await simulate(waiter, kind, seconds, sampling));
        known.set(key, found);
        figures.set(waiter, found);
      }
      cells.push({ kind: kind.name, seconds, tellsProgress: kind.shape !== "absent", figures });
    }
  }
  return cells;
}

function whatCounts({ heeds }: Waiter, { shape, failsWithin, retryAfter }: Kind): object {
  return {
    failsWithin,
    shape: heeds.includes("progress") ? shape : undefined,
    retryAfter: heeds.includes("Retry-After") ? retryAfter : undefined,
  };
}
