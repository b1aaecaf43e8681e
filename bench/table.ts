/** One row of a table: its name first, then a figure for each further column. */
export type Row = readonly string[];

/** A table as Markdown has it, aligned, so that it reads well in a terminal and can be taken over into docs as it is. */
export function tableOf(head: Row, rows: readonly Row[]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]?.length ?? 0)));
  const cell = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  const line = (row: Row): string => `| ${head.map((_, at) => cell(row[at] ?? "", at)).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** Prints a title and {@link tableOf} below it. */
export function printTable(title: string, head: Row, rows: readonly Row[]): void {
  console.log(`\n${title}\n\n${tableOf(head, rows)}`);
}
