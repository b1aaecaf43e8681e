/** Prints a title and rows of a name, a figure and a remark. */
export function table(title: string, rows: readonly (readonly [string, string, string])[]): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log(`\n${title}`);
  for (const [name, figure, remark] of rows)
    console.log(`  ${name.padEnd(width)}  ${figure.padStart(9)}  ${remark}`);
}
