import { MB } from "../provider/memory";
import { mean, quantile } from "../statistics";
import { tableOf } from "../table";
import type { Many, Measured } from "./measure";

/** Formats the number of requests. */
export function requestsTable(measured: readonly Measured[], { creations }: Many): string {
  return tableOf(
    [
      "limit",
      "created",
      "seconds",
      "requests",
      "per creation",
      "mean per s",
      "max. per s",
      "429 replies",
      "connections",
    ],
    measured.map(({ scene, report, failures, seconds }) => {
      const requests = report.perSecond.reduce((sum, count) => sum + count, 0);
      return [
        scene.name,
        `${creations - failures.length}`,
        seconds.toFixed(0),
        `${requests}`,
        (requests / creations).toFixed(1),
        mean(report.perSecond).toFixed(0),
        `${Math.max(...report.perSecond)}`,
        `${report.refused}`,
        `${report.connections}`,
      ];
    }),
  );
}

/** Formats the delays until completion was detected, and the heap. */
export function fairnessTable(measured: readonly Measured[]): string {
  return tableOf(
    [
      ...["limit", "delay: median", "95%", "max."],
      ...["heap before", "waiting: min.", "waiting: max.", "after"],
    ],
    measured.map(({ scene, report: { overshootMs }, heap: { before, during, after } }) => {
      const late = [0.5, 0.95, 1].map((share) => `${(quantile(overshootMs, share) / 1_000).toFixed(2)} s`);
      const bytes = [before, Math.min(...during), Math.max(...during), after];
      return [scene.name, ...late, ...bytes.map((count) => `${(count / MB).toFixed(1)} MB`)];
    }),
  );
}

const BARS = " ▁▂▃▄▅▆▇█";

/** Draws a bar for each second. Its height is the number of requests, relative to the busiest second. */
export function histogram({ scene, report: { perSecond } }: Measured): string {
  const most = Math.max(...perSecond);
  const bars = perSecond.map((count) => BARS[Math.ceil((count / most) * (BARS.length - 1))]);
  return `${scene.name}\n${bars.join("")} (█ is ${most})`;
}
