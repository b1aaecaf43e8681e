import { aligned } from "../aligned";
import type { HostReport } from "./host-campaign";
import type { Operation } from "./rounds";
import type { StackReport } from "./stack-campaign";

/** Formats operations by kind: their number, how many failed at first, and the runs and requests until they converged. */
export function operationsTable({ operations }: HostReport): string {
  const header = [
    "",
    "operations",
    "failed at first",
    "mean runs",
    "max",
    "mean requests",
    "median",
    "p95",
    "max",
  ];
  const actions = ["create", "read", "update", "replace", "delete"] as const;
  const rows = actions.map((action) =>
    row(
      action,
      operations.filter((one) => one.action === action),
    ),
  );
  return aligned([header, ...rows, row("all", operations)]);
}

function row(name: string, operations: readonly Operation[]): string[] {
  const runs = operations.map((one) => one.runs);
  const requests = operations.map((one) => one.requests).sort((a, b) => a - b);
  return [
    ...[name, operations.length, runs.filter((count) => count > 1).length],
    ...[mean(runs), Math.max(0, ...runs)],
    ...[mean(requests), share(requests, 0.5), share(requests, 0.95), requests.at(-1) ?? 0],
  ].map(String);
}

/** Formats the number of requests with each fault. Replies instead of the work are identified by their status. */
export function hitsLine({ requests, hits }: Pick<HostReport, "requests" | "hits">): string {
  const all = [...hits.values()].reduce((sum, count) => sum + count, 0);
  const each = [...hits].sort(([, a], [, b]) => b - a).map(([fault, count]) => `${fault} ${count}`);
  return `${requests} requests, ${all} of them with a fault (${((100 * all) / requests).toFixed(1)} %): ${each.join(", ")}`;
}

/** Formats the failures of calls, the most frequent first. */
export function failuresLines({ failures }: Pick<HostReport, "failures">): string {
  const lines = [...failures].sort(([, a], [, b]) => b - a).map(([words, count]) => `${count} × ${words}`);
  const more = lines.length > MOST_FAILURES ? [`… and ${lines.length - MOST_FAILURES} more`] : [];
  return [...lines.slice(0, MOST_FAILURES), ...more].map((line) => `  ${line}`).join("\n");
}
const MOST_FAILURES = 12;

export function stackTable(reports: readonly StackReport[]): string {
  const header = ["engine", "command", "runs", "requests", "faults", "seconds"];
  const rows = reports.flatMap(({ engine, steps }) =>
    steps.map(({ words, runs, requests, hits, ms }) => [
      ...[engine, words],
      ...[runs, requests, hits, Math.round(ms / 1000)].map(String),
    ]),
  );
  return aligned([header, ...rows], 2);
}

function mean(numbers: readonly number[]): string {
  return (numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length)).toFixed(2);
}

/** Returns the number that this share of the numbers doesn't exceed. */
function share(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0;
}
