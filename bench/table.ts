/** One row of a table, with a string for each column. */
export type Row = readonly string[];

/** Matches numbers with their usual units and signs. */
const FIGURE = /^[\d.,()–×%<≤+-]*( (ms|s|B|kB|MB))?( \([\d.–]*\))?$/;

/**
 * Formats an aligned Markdown table, which is readable in a terminal and can be copied into the docs. Columns of
 * numbers are right-aligned.
 */
export function tableOf(head: Row, rows: readonly Row[]): string {
  const columns = head.map((title, at) => {
    const cells = rows.map((row) => row[at] ?? "");
    const width = Math.max(3, title.length, ...cells.map((cell) => cell.length));
    const isRight = cells.every((cell) => FIGURE.test(cell));
    return { isRight, pad: (text = "") => (isRight ? text.padStart(width) : text.padEnd(width)) };
  });
  const line = (row: Row): string => `| ${columns.map(({ pad }, at) => pad(row[at])).join(" | ")} |`;
  const rule = columns.map(({ isRight, pad }) =>
    pad()
      .replaceAll(" ", "-")
      .replace(/-$/, isRight ? ":" : "-"),
  );
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** Prints a title, followed by {@link tableOf}. */
export function printTable(title: string, head: Row, rows: readonly Row[]): void {
  console.log(`\n${title}\n\n${tableOf(head, rows)}`);
}
