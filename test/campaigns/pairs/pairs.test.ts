import { describe, expect, it } from "vitest";
import { engines } from "../../harness/engines";
import { breachesOf, pairsCampaign } from "./campaign";

/** `CLOUDINFRA_TEST_PAIRS`: how many pairs; the campaign itself plays thousands. */
const pairs = Number(process.env.CLOUDINFRA_TEST_PAIRS ?? 6);

describe("what preview announces of changed programs", async () => {
  for (const engine of await engines()) {
    it(`is what up does, and then nothing is left to do: on ${engine.name}`, async () => {
      const reports = await pairsCampaign({ engine, pairs, seed: 6, together: 12 });
      expect(breachesOf(reports).join("\n\n")).toBe("");
      expect(reports.reduce((sum, report) => sum + report.pairs, 0)).toBe(pairs);
    }, 300_000);
  }
});
