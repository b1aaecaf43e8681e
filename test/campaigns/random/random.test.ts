import { expect, test } from "vitest";
import { campaign } from "./campaign";

const LIMIT_MS = 120_000;

test(
  "handles random programs, replies and stored data without crashes, hangs, leaks, losses or false claims",
  async () => {
    const { tally, breaches } = await campaign({ cases: 300, seed: 5 });
    expect(breaches).toEqual([]);
    expect(tally.cases).toBe(300);
    for (const [verb, { succeeded, refused, kept }] of tally.calls) {
      expect(succeeded, `${verb} succeeds sometimes`).toBeGreaterThan(0);
      if (verb !== "check" && verb !== "diff")
        expect(refused + kept, `${verb} fails sometimes`).toBeGreaterThan(0);
    }
  },
  LIMIT_MS,
);
