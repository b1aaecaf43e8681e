/** Aligns columns: words to the left, numbers to the right. @param words the number of leading columns with words */
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
