import { aligned } from "../aligned";
import type { Report } from "./campaign";

/** Formats calls by kind and result. `kept`: the call failed, but the state contains what the next run needs. */
export function callsTable({ tally }: Report): string {
  const rows = [...tally.calls].map(([verb, { calls, succeeded, refused, kept, longestMs }]) => [
    verb,
    ...[calls, succeeded, refused, kept, Math.round(longestMs / 1000)].map(String),
  ]);
  return aligned([["", "calls", "succeeded", "failed", "kept", "longest (s)"], ...rows]);
}

export function countsLine(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

export function heapLine({ heap }: Report): string {
  if (heap === undefined) return "the heap was not measured";
  const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  return `heap ${megabytes(heap.early)} MB in the second tenth, ${megabytes(heap.late)} MB in the last: ${growth(heap)}`;
}

function growth(heap: NonNullable<Report["heap"]>): string {
  return `${(100 * growthOf(heap)).toFixed(1)} %`;
}

/** Returns the growth relative to the earlier heap. */
export function growthOf({ early, late }: NonNullable<Report["heap"]>): number {
  return late / early - 1;
}
