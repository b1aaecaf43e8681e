/** What a line may take: Pulumi's CLI puts four blanks before it, and a hundred columns are what a pull request's comment shows. */
const COLUMNS = 96;

/** What stays on one line: a command between backticks, a number or code with the word that says what it is, and any other word. */
const UNBROKEN = /(?:code|trace|operation|object) \S+|\d+ attempts|(?:`[^`]*`|[^ ])+/g;

/**
 * A message with its long lines broken at blanks, and what follows a break moved in. The first one stays as it is: Pulumi shows it by
 * itself too, on the resource's row. So does what stands between backticks, for a command is to be copied, a word that is
 * longer than a line, such as an address, and a table's row.
 */
export function wrapLongLines(message: string): string {
  const [first = "", ...others] = message.split("\n");
  return [first, ...others.map(wrapped)].join("\n");
}

function wrapped(text: string): string {
  const isTableRow = /\S {2,}\S/.test(text);
  if (text.length <= COLUMNS || isTableRow) return text;
  const [indent = ""] = /^ */.exec(text) ?? [];
  const [first = "", ...words] = text.match(UNBROKEN) ?? [];
  const lines: string[] = [];
  let line = indent + first;
  for (const word of words) {
    if (line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${indent}  ${word}`;
    } else line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}
