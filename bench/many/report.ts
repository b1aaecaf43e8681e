import { MB } from "../provider/memory";
import { mean, quantile } from "../statistics";
import { tableOf } from "../table";
import type { Many, Measured } from "./measure";

/** How often the service was asked. */
export function requestsTable(measured: readonly Measured[], { creations }: Many): string {
  return tableOf(
    ["limit", "created", "seconds", "requests", "each", "a second", "at most", "answered 429", "connections"],
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

/** How late each operation was seen done, and the heap. */
export function fairnessTable(measured: readonly Measured[]): string {
  return tableOf(
    [
      ...["limit", "seen late by: median", "95 of 100", "all"],
      ...["heap before", "waiting: least", "waiting: most", "after"],
    ],
    measured.map(({ scene, report: { overshootMs }, heap: { before, during, after } }) => {
      const late = [0.5, 0.95, 1].map((share) => `${(quantile(overshootMs, share) / 1_000).toFixed(2)} s`);
      const bytes = [before, Math.min(...during), Math.max(...during), after];
      return [scene.name, ...late, ...bytes.map((count) => `${(count / MB).toFixed(1)} MB`)];
    }),
  );
}

const BARS = " ▁▂▃▄▅▆▇█";

/** A bar for each second: how many requests it had, of as many as the fullest. */
export function histogram({ scene, report: { perSecond } }: Measured): string {
  const most = Math.max(...perSecond);
  const bars = perSecond.map((count) => BARS[Math.ceil((count / most) * (BARS.length - 1))]);
  return `${scene.name}\n${bars.join("")} (█ is ${most})`;
}
