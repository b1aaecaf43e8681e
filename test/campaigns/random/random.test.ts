import { expect, test } from "vitest";
import { campaign } from "./campaign";

const LIMIT_MS = 120_000;

test(
  "whatever programs ask, services answer and memory holds: no crash, no hang, no leak, nothing lost or made up",
  async () => {
    const { tally, breaches } = await campaign({ cases: 300, seed: 5 });
    expect(breaches).toEqual([]);
    expect(tally.cases).toBe(300);
    for (const [verb, { succeeded, refused, kept }] of tally.calls) {
      expect(succeeded, `${verb} succeeds now and then`).toBeGreaterThan(0);
      if (verb !== "check" && verb !== "diff")
        expect(refused + kept, `${verb} fails now and then`).toBeGreaterThan(0);
    }
  },
  LIMIT_MS,
);
