import { globSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY } from "../harness/modules";
import { readMarkdown } from "./markdown";
import { TABLES } from "./tables";

const TABLE = /<!-- table: (\S+) -->\n.*?<!-- end -->/gs;

const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: REPOSITORY })].filter((page) =>
  readMarkdown(page).includes("<!-- table: "),
);

function withTables(page: string): string {
  return readMarkdown(page).replaceAll(TABLE, (_, name: string) => {
    const table = TABLES[name];
    if (table === undefined) throw new Error(`${page}: there is no table "${name}"`);
    return `<!-- table: ${name} -->\n${table()}\n<!-- end -->`;
  });
}

it.each(pages)(
  "%s has the tables that the code gives (regenerate: npx vitest run test/readme -u)",
  async (page) => {
    await expect(withTables(page)).toMatchFileSnapshot(path.join(REPOSITORY, page));
  },
);

it("every table is on a page", () => {
  const shown = pages.flatMap((page) => [...readMarkdown(page).matchAll(TABLE)].map(([, name]) => name));
  expect(shown.sort()).toEqual(Object.keys(TABLES).sort());
});
