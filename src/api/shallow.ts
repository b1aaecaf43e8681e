/** How many maps and lists may stand in each other: far more than any reply of this API has, and far fewer than would fill a stack. */
const MAX_DEPTH = 100;

/**
 * A JSON text with `null` for whatever is nested too deep: all that goes down a reply by calling itself would fail there,
 * and no reply may be able to fail a creation by its form. Of a text that is no JSON nothing is promised.
 */
export function limitNesting(text: string): string {
  let kept = "";
  let from = 0;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isInText) {
      if (char === "\\") at++;
      else if (char === '"') isInText = false;
    } else if (char === '"') isInText = true;
    else if (char === "[" || char === "{") {
      depth++;
      if (depth === MAX_DEPTH + 1) kept += `${text.slice(from, at)}null`;
    } else if (char === "]" || char === "}") {
      if (depth === MAX_DEPTH + 1) from = at + 1;
      depth--;
    }
  }
  return kept + (depth > MAX_DEPTH ? "" : text.slice(from));
}
