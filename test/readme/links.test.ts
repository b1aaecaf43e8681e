import { globSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY } from "../harness/modules";
import { anchors, links, readMarkdown, relativeLinks } from "./markdown";

const FOREIGN = ["node_modules", "dist", "reference"];
const pages = globSync("**/*.md", { cwd: REPOSITORY, exclude: (name) => FOREIGN.includes(name) }).sort();

/** Describes what is wrong with a link of a page, or returns `undefined`. */
function problemOf(page: string, link: string): string | undefined {
  const [target = "", anchor] = link.split("#");
  const file = target === "" ? page : path.posix.join(path.posix.dirname(page), target);
  const found = statSync(path.join(REPOSITORY, file), { throwIfNoEntry: false });
  if (found === undefined) return `${link}: there is no ${file}`;
  if (anchor === undefined) return undefined;
  if (!found.isFile() || !file.endsWith(".md")) return `${link}: only a page has headings`;
  return anchors(readMarkdown(file)).includes(anchor) ? undefined : `${link}: ${file} has no such heading`;
}

describe.each(pages)("%s", (page) => {
  it("links to files and headings that exist", () => {
    const local = links(readMarkdown(page)).filter((link) => !/^\w+:/.test(link));
    expect(local.flatMap((link) => problemOf(page, link) ?? [])).toEqual([]);
  });
});

it("reports a link to a missing file, to a missing heading, and to a heading of a folder", () => {
  expect(problemOf("docs/README.md", "missing.md")).toBe("missing.md: there is no docs/missing.md");
  expect(problemOf("README.md", "docs/waiting.md#missing")).toContain("docs/waiting.md has no such heading");
  expect(problemOf("README.md", "#missing")).toContain("README.md has no such heading");
  expect(problemOf("README.md", "docs#start")).toContain("only a page has headings");
  expect(problemOf("README.md", "docs/waiting.md#ctrl-c")).toBeUndefined();
});

describe("docs/README.md", () => {
  it("lists every guide", () => {
    const listed = relativeLinks(readMarkdown("docs/README.md")).map((link) => path.posix.join("docs", link));
    const guides = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
    expect(guides.filter((page) => !listed.includes(page))).toEqual([]);
  });
});

it("ARCHITECTURE.md names only files and folders that exist", () => {
  const named = [...readMarkdown("ARCHITECTURE.md").matchAll(/`((?:src|test)\/[\w./-]+)`/g)];
  const missing = named.filter(
    ([, file = ""]) => !statSync(path.join(REPOSITORY, file), { throwIfNoEntry: false }),
  );
  expect(missing.map(([, file]) => file)).toEqual([]);
});
