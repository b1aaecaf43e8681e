import { expect, it } from "vitest";
import { parseExport } from "../../src/cli/recover/export";
import { exported, TOKEN } from "./exports";

const text = JSON.stringify(exported());

it("an export of version 4, which newer features have, is read like one of version 3", () => {
  const newer = { ...exported(), version: 4, features: ["taint"] };
  expect(parseExport(JSON.stringify(newer))).toEqual(parseExport(text));
});

it("an export without resources and pending operations is one of an empty stack", () => {
  const empty = { resources: [], pending_operations: [] };
  expect(parseExport('{"version":3,"deployment":{}}')).toMatchObject(empty);
  expect(parseExport('{"version":3,"deployment":{"resources":null}}')).toMatchObject(empty);
});

it("a byte order mark, which some shells write, is not part of the export", () => {
  expect(parseExport(`\uFEFF${text}`)).toEqual(parseExport(text));
});

it.each([
  ["an old version", '{"version":2,"latest":{}}', "version 2, but this package reads versions 3 and 4"],
  ["a version to come", '{"version":5,"deployment":{}}', "version 5"],
  ["damaged JSON", text.slice(0, -20), "not valid JSON"],
  ["nothing", "", "not valid JSON"],
  ["something else", "[]", "not the export of a stack"],
  ["a resource without URN", '{"version":3,"deployment":{"resources":[{}]}}', "deployment.resources.0.urn"],
])("%s is an error that says so", (_, wrong, words) => {
  expect(() => parseExport(wrong)).toThrow(words);
});

it("no error contains a part of the export", () => {
  const wrongs = [`${TOKEN}{`, `{"version":3,"deployment":"${TOKEN}"}`, `"${TOKEN}"`];
  for (const wrong of wrongs) {
    expect(() => parseExport(wrong)).toThrow();
    expect(() => parseExport(wrong)).not.toThrow(TOKEN);
  }
});
