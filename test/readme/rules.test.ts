import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../harness/modules";
import { quoted, readMarkdown, section, tableRows } from "./markdown";

const rules = tableRows(
  section(readMarkdown("src/provider/README.md"), "The rules of an interrupted creation"),
);

/** The files, or folders, that a cell names: of `folder`, where they do not begin at the top. */
function missing(cell: string, folder: string, ending: string): string[] {
  const named = quoted(cell).map((name) => (/^(?:src|test)\//.test(name) ? name : `${folder}/${name}`));
  expect(named).not.toEqual([]);
  return named.filter(
    (name) => ![name, name + ending].some((file) => existsSync(path.join(REPOSITORY, file))),
  );
}

test("each rule is there once", () => {
  const all = { I: 4, E: 5, M: 4, L: 3, C: 8, D: 3, U: 3, X: 3 };
  const names = Object.entries(all).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, i) => `${letter}${i + 1}`),
  );
  expect(rules.map(([rule]) => rule?.trim().split(" ")[0])).toEqual(names);
});

test.each(rules)(
  "the files that keep it and hold it to it are there: %s",
  (_rule, keeps = "", holds = "") => {
    expect(missing(keeps, "src/provider", ".ts")).toEqual([]);
    expect(missing(holds, "test/provider", ".test.ts")).toEqual([]);
  },
);
