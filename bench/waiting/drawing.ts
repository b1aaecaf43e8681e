import { drawPlot, type Point } from "../plot";
import { type Cell, figuresIn } from "./dominance";
import { shapes } from "./shapes";
import type { Waiter } from "./waiter";

/** Labelled points: the distance between these two shows the value of progress reports. */
const NAMED = ["linear", "absent"];

/** Plots polls against overshoot: a panel for each duration, and a point for each shape of progress. */
export function drawCells(file: string, cells: readonly Cell[], waiters: readonly Waiter[]): Promise<void> {
  const drawn = cells.filter(({ kind }) => kind in shapes);
  const series = waiters.map((waiter) => {
    const points = drawn.map(({ kind, seconds, figures }): Point => {
      const { polls, overshootMs } = figuresIn(figures, waiter);
      const label = waiter.heeds.includes("progress") && NAMED.includes(kind) ? kind : undefined;
      return { x: polls, y: overshootMs / 1_000, panel: `${seconds} s ± 20 %`, label };
    });
    // For waiters that ignore progress, all shapes give the same point.
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
