import { aligned } from "../aligned";
import type { StackReport } from "./stack";

/** Formats the results of all stacks. */
export function tableOf(engine: string, reports: readonly StackReport[]): string {
  const sum = (of: (report: StackReport) => number): number =>
    reports.reduce((total, one) => total + of(one), 0);
  const ops = [...new Set(reports.flatMap(({ announced }) => Object.keys(announced)))].sort();
  return aligned([
    ["engine", "stacks", "pairs", "drifted", ...ops, "wrong previews", "false diffs", "seconds"],
    [
      engine,
      ...[reports.length, sum((one) => one.pairs), sum((one) => one.drifted)].map(String),
      ...ops.map((op) => String(sum(({ announced }) => announced[op] ?? 0))),
      ...[sum((one) => one.untruths.length), sum((one) => one.falseDiffs.length)].map(String),
      (sum((one) => one.ms) / 1000).toFixed(0),
    ],
  ]);
}
