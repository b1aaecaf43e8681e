import { drawPlot, type Point } from "../plot";
import { type Cell, figuresIn } from "./dominance";
import { shapes } from "./shapes";
import type { Waiter } from "./waiter";

/** These two are named beside their points: what progress is worth lies between them. */
const NAMED = ["linear", "absent"];

/** A panel for each duration: polls against overshoot, a point for each way in which progress grows. */
export function drawCells(file: string, cells: readonly Cell[], waiters: readonly Waiter[]): Promise<void> {
  const drawn = cells.filter(({ kind }) => kind in shapes);
  const series = waiters.map((waiter) => {
    const points = drawn.map(({ kind, seconds, figures }): Point => {
      const { polls, overshootMs } = figuresIn(figures, waiter);
      const label = waiter.heeds.includes("progress") && NAMED.includes(kind) ? kind : undefined;
      return { x: polls, y: overshootMs / 1_000, panel: `${seconds} s ± 20 %`, label };
    });
    // To those who don't heed progress all of them are one.
    const different = new Map(points.map((point) => [`${point.panel}/${point.x}/${point.y}`, point]));
    return { name: waiter.name, points: [...different.values()] };
  });
  return drawPlot(file, {
    x: { title: "polls (mean)", scale: "log" },
    y: { title: "overshoot in seconds (mean)", scale: "log" },
    series,
    joined: false,
    columns: 5,
  });
}
