/** The rows of an error's table, without its header: property, state, service, desired. */
export function rowsOf(message: string): string[][] {
  const lines = message.split("\n").map((line) => line.trim());
  const header = lines.findIndex((line) =>
    /^property\s+in your state\s+now in the service\s+desired$/.test(line),
  );
  const rows = header < 0 ? [] : lines.slice(header + 1).map((line) => line.split(/ {2,}/));
  const end = rows.findIndex((cells) => cells.length !== 4);
  return end < 0 ? rows : rows.slice(0, end);
}
