import { readFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "../harness/modules";

/** A Markdown file of the repository. */
export function readMarkdown(file: string): string {
  return readFileSync(path.join(REPOSITORY, file), "utf8");
}

/** The part below a heading of the second level, up to the next one. */
export function section(markdown: string, heading: string): string {
  const [, ...parts] = markdown.split(/^## /m);
  const found = parts.find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`there is no section "${heading}"`);
  return found;
}

/** The text of every fenced block of a language. */
export function fenced(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, text]) =>
    name === language && text !== undefined ? [text] : [],
  );
}

/** The cells of a table's rows, without its head. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1));
}

/** What stands in backquotes in running text and tables, in order. */
export function quoted(markdown: string): string[] {
  const text = markdown.replace(/^```.*?^```$/gms, "");
  return [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, words]) => words ?? []);
}

/** Where links lead that stay in the repository. */
export function relativeLinks(markdown: string): string[] {
  const targets = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => target ?? []);
  return targets.filter((target) => !/^(\w+:|#)/.test(target)).map((target) => target.replace(/#.*/, ""));
}
