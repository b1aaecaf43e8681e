import { describe, expect, it } from "vitest";
import { engines } from "../../harness/engines";
import { breachesOf, pairsCampaign } from "./campaign";

/** `CLOUDINFRA_TEST_PAIRS` sets the number of pairs. The campaign itself runs thousands. */
const pairs = Number(process.env.CLOUDINFRA_TEST_PAIRS ?? 6);

describe("the preview of a changed program", async () => {
  for (const engine of await engines()) {
    it(`matches the up after it, and then another up has nothing to do, on ${engine.name}`, async () => {
      const reports = await pairsCampaign({ engine, pairs, seed: 6, together: 12 });
      expect(breachesOf(reports).join("\n\n")).toBe("");
      expect(reports.reduce((sum, report) => sum + report.pairs, 0)).toBe(pairs);
    }, 300_000);
  }
});
