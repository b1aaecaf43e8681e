import path from "node:path";
import { describe, expect, test } from "vitest";
import { HINTS, type HintCase } from "../../src/diagnostics/hints";
import { ofOperations } from "./operations";
import { codes, pageOf, type SeenMessage } from "./page";
import { ofProviders } from "./providers";
import { ofRequests } from "./requests";
import { ofSettings } from "./settings";

const provocations = [...ofSettings, ...ofRequests, ...ofProviders, ...ofOperations];
const seen: SeenMessage[] = [];

describe.each(codes())("an error with the code %s", (code) => {
  const own = provocations.filter((one) => one.code === code);

  test.each(own)("has a message with code and hint for $when", async ({ when, provoke }) => {
    const message = await provoke();
    seen.push({ code, when, message });
    expect(message).toMatch(new RegExp(`^ {2}.*\\bcode ${code}$`, "m"));
    const [, hint = ""] = /^ {2}hint: (.+)$/m.exec(message) ?? [];
    expect(hint, message).toMatch(/^[A-Z]/);
    expect(message).not.toMatch(/\n\s+at |\bundefined\b|\[object/);
  });

  test("has an example for each of its hints", () => {
    expect(own.length).toBeGreaterThan(0);
    const found = HINTS[code] ?? [];
    const cases: readonly HintCase[] = typeof found === "string" ? [{ hint: found }] : found;
    for (const { when, hint } of cases) {
      const messages = seen.filter((one) => one.code === code && (when === undefined || one.when === when));
      const hints = typeof hint === "string" ? [hint] : [hint([]), hint(["flavor"])];
      const isSeen = messages.some(({ message }) => hints.some((one) => message.includes(one)));
      expect(isSeen, `${code}, ${when}: no message contains "${hints[0]}"`).toBe(true);
    }
  });
});

test("docs/errors.md contains all messages (update it with `npx vitest run test/errors -u`)", async () => {
  expect(seen).toHaveLength(provocations.length);
  const page = path.join(__dirname, "../../docs/errors.md");
  await expect(pageOf(seen)).toMatchFileSnapshot(page);
});
