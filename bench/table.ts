/** One row of a table, a text for each column. */
export type Row = readonly string[];

/** Figures, with what usually stands beside them. */
const FIGURE = /^[\d.,()–×%<≤+-]*( (ms|s|B|kB|MB))?( \([\d.–]*\))?$/;

/**
 * A table as Markdown has it, aligned, so that it reads well in a terminal and can be taken over into docs as it is. Columns of
 * figures stand to the right.
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

/** Prints a title and {@link tableOf} below it. */
export function printTable(title: string, head: Row, rows: readonly Row[]): void {
  console.log(`\n${title}\n\n${tableOf(head, rows)}`);
}
