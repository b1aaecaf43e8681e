import { readFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "../harness/modules";

/** Reads a Markdown file of the repository. */
export function readMarkdown(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), "utf8");
}

/** Returns the part below a heading of the second level, up to the next one. */
export function section(markdown: string, heading: string): string {
  const [, ...parts] = markdown.split(/^## /m);
  const found = parts.find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`there is no section "${heading}"`);
  return found;
}

/** Returns the text of every fenced block of a language. */
export function fenced(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, text]) =>
    name === language && text !== undefined ? [text] : [],
  );
}

/** Returns the cells of a table's rows, without its head. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1));
}

/** Returns the code in running text and tables, in order. */
export function quoted(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/`([^`\n]+)`/g)].flatMap(([, words]) => words ?? []);
}

/** Returns the targets of all links and images. */
export function links(markdown: string): string[] {
  const text = withoutFences(markdown).replaceAll(/`[^`\n]*`/g, "`code`");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => target ?? []);
}

/** Returns the files to which links within the repository lead. */
export function relativeLinks(markdown: string): string[] {
  const local = links(markdown).filter((target) => !/^(\w+:|#)/.test(target));
  return local.map((target) => target.replace(/#.*/, ""));
}

/** Returns the anchors of all headings, as GitHub and the documentation site derive them. */
export function anchors(markdown: string): string[] {
  const used = new Map<string, number>();
  return [...withoutFences(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
    const count = used.get(anchor) ?? 0;
    used.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^ *```.*?^ *```$/gms, "");
}
