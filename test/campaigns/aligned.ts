/** Rows with their columns aligned, the first ones to the left, figures to the right. @param words how many columns are words */
export function aligned(rows: readonly (readonly string[])[], words = 1): string {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at < words ? cell.padEnd(width(at)) : cell.padStart(width(at))))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
