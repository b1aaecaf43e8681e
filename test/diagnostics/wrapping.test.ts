import { describe, expect, test } from "vitest";
import { wrapLongLines } from "../../src/diagnostics/format";

const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

describe("a wrapped message", () => {
  test("fits into 80 columns with Pulumi's indentation of four", () => {
    const shown = wrapLongLines(`a headline\n  hint: ${words(60)}`).split("\n");
    expect(shown.length).toBeGreaterThan(3);
    for (const line of shown) expect(`    ${line}`.length).toBeLessThanOrEqual(80);
    expect(shown[1]).toMatch(/^ {2}hint: word0 /);
    expect(shown[2]).toMatch(/^ {4}word/);
    expect(shown.join(" ").replaceAll(/\s+/g, " ")).toBe(`a headline hint: ${words(60)}`);
  });

  test("keeps its first line, which Pulumi also shows as a status message", () => {
    expect(wrapLongLines(words(40))).toBe(words(40));
  });

  test("keeps a command in one line, so that it can be copied", () => {
    const command = "`pulumi config set --secret cloudinfra:oidcClientSecret value`";
    expect(wrapLongLines(`it failed\n  hint: ${words(10)} ${command}, ${words(10)}`)).toContain(
      `\n    ${command}, `,
    );
  });

  test.each(["code revision_conflict", "trace 0af7651916cd43dd", "8 attempts"])(
    "keeps %s in one line",
    (pair) => {
      for (let length = 40; length < 100; length++)
        expect(wrapLongLines(`it failed\n  PUT /v1/${"x".repeat(length)} · ${pair} · and more`)).toContain(
          pair,
        );
    },
  );

  test("keeps an address that is longer than a line", () => {
    const address = `https://api.example.com/${"x".repeat(120)}`;
    expect(wrapLongLines(`it failed\n  cause: ${address} is not there`).split("\n")).toEqual([
      "it failed",
      "  cause:",
      `    ${address}`,
      "    is not there",
    ]);
  });

  test("keeps the rows of a table", () => {
    const row = `  flavor    ${"small".padEnd(60)}large${" ".repeat(40)}medium`;
    expect(wrapLongLines(`it failed\n${row}`)).toBe(`it failed\n${row}`);
  });

  test("keeps text with a single backtick", () => {
    const odd = `it failed\n  hint: ${words(15)} a \` alone ${words(8)}`;
    expect(wrapLongLines(odd).replaceAll(/\s+/g, " ")).toBe(odd.replaceAll(/\s+/g, " "));
    const text = `  label \`a is no good, ${words(20)}`;
    expect(wrapLongLines(`it failed\n${text}`).replaceAll(/\n {4}/g, " ")).toBe(`it failed\n${text}`);
  });
});
