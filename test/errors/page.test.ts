import path from "node:path";
import { describe, expect, test } from "vitest";
import { HINTS } from "../../src/diagnostics/hints";
import { ofOperations } from "./operations";
import { codes, pageOf, type Told } from "./page";
import { ofProviders } from "./providers";
import { ofRequests } from "./requests";
import { ofSettings } from "./settings";

const provocations = [...ofSettings, ...ofRequests, ...ofProviders, ...ofOperations];
const told: Told[] = [];

describe.each(codes())("an error with the code %s", (code) => {
  const own = provocations.filter((one) => one.code === code);

  test.each(own)("says for $when what it is and what to do", async ({ when, provoke }) => {
    const words = await provoke();
    told.push({ code, when, words });
    expect(words).toMatch(new RegExp(`^ {2}.*\\bcode ${code}$`, "m"));
    const [, hint = ""] = /^ {2}hint: (.+)$/m.exec(words) ?? [];
    expect(hint, words).not.toBe("");
    expect(words).not.toMatch(/\n\s+at |\bundefined\b|\[object/);
  });

  test("has been seen, in each case that has a hint of its own", () => {
    expect(own.length).toBeGreaterThan(0);
    for (const { when, hint } of HINTS[code] ?? []) {
      const seen = told.filter((one) => one.code === code && (when === undefined || one.when === when));
      const says = seen.some(({ words }) => words.includes(hint([])) || words.includes(hint(["flavor"])));
      expect(says, `${code}, ${when}: no message says "${hint([])}"`).toBe(true);
    }
  });
});

test("docs/errors.md shows them all (write it anew with `npx vitest run test/errors -u`)", async () => {
  expect(told).toHaveLength(provocations.length);
  const page = path.join(__dirname, "../../docs/errors.md");
  await expect(pageOf(told)).toMatchFileSnapshot(page);
});
