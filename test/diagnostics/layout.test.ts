import { describe, expect, test } from "vitest";
import { wrapLongLines } from "../../src/diagnostics/format";

const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

describe("a message as it is shown", () => {
  test("takes a hundred columns at most, with the four that Pulumi puts before each line", () => {
    const shown = wrapLongLines(`a headline\n  hint: ${words(60)}`).split("\n");
    expect(shown.length).toBeGreaterThan(3);
    for (const line of shown) expect(`    ${line}`.length).toBeLessThanOrEqual(100);
    expect(shown[1]).toMatch(/^ {2}hint: word0 /);
    expect(shown[2]).toMatch(/^ {4}word/);
    expect(shown.join(" ").replaceAll(/\s+/g, " ")).toBe(`a headline hint: ${words(60)}`);
  });

  test("has its first line whole: Pulumi shows that on the resource's row too", () => {
    expect(wrapLongLines(words(40))).toBe(words(40));
  });

  test("has a command whole, which is to be copied", () => {
    const command = "`pulumi config set --secret --path cloudinfra:oidcClientSecret a-long-value-of-it`";
    expect(wrapLongLines(`it failed\n  hint: ${words(10)} ${command}, ${words(10)}`)).toContain(
      `\n    ${command}, `,
    );
  });

  test.each(["code revision_conflict", "trace 0af7651916cd43dd", "8 attempts"])(
    "has %s in one piece",
    (pair) => {
      for (let length = 60; length < 100; length++)
        expect(wrapLongLines(`it failed\n  PUT /v1/${"x".repeat(length)} · ${pair} · and more`)).toContain(
          pair,
        );
    },
  );

  test("has an address whole, also where it is longer than a line", () => {
    const address = `https://api.example.com/${"x".repeat(120)}`;
    expect(wrapLongLines(`it failed\n  because: ${address} is not there`).split("\n")).toEqual([
      "it failed",
      "  because:",
      `    ${address}`,
      "    is not there",
    ]);
  });

  test("has the rows of a table as they are", () => {
    const row = `  flavor    ${"small".padEnd(60)}large${" ".repeat(40)}medium`;
    expect(wrapLongLines(`it failed\n${row}`)).toBe(`it failed\n${row}`);
  });

  test("loses nothing of what is no pair of backticks", () => {
    const odd = `it failed\n  hint: ${words(15)} a \` alone ${words(8)}`;
    expect(wrapLongLines(odd).replaceAll(/\s+/g, " ")).toBe(odd.replaceAll(/\s+/g, " "));
    const text = `  label \`a is no good, ${words(20)}`;
    expect(wrapLongLines(`it failed\n${text}`).replaceAll(/\n {4}/g, " ")).toBe(`it failed\n${text}`);
  });
});
