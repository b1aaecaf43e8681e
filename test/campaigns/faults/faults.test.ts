import { describe, expect, it } from "vitest";
import { describeOnEngines } from "../../harness/describe-on-engines";
import { hostCampaign } from "./host-campaign";
import { stackCampaign } from "./stack-campaign";

const SEED = 5;
const FAULTS = 0.2;
const LIMIT_MS = 300_000;

describe("operations at a service with faults in 30% of the requests", () => {
  it(
    "converge on one object for each resource, and no call of create creates two",
    async () => {
      const report = await hostCampaign({ operations: 72, seed: SEED, faults: 0.3 });
      expect(report.breaches).toEqual([]);
      expect(report.operations).toHaveLength(72);
      expect(Math.max(...report.made)).toBe(1);
      expect(report.failures.size, "some calls fail").toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});

describeOnEngines("repeated runs of up at a service with faults in 20% of the requests", (engine) => {
  it(
    "end with the resources of the program",
    async () => {
      const options = { seed: SEED, faults: FAULTS, instances: 4, destroys: false, isVerbose: false };
      const { breaches, steps } = await stackCampaign(engine, options);
      expect(breaches).toEqual([]);
      expect(steps.map(({ words }) => words)).toEqual(["up, all new", "up, all changed"]);
      // The order of the requests, and therefore the faults, depends on the engine.
      expect(Math.max(...steps.map(({ hits }) => hits))).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
