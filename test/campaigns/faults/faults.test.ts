import { describe, expect, it } from "vitest";
import { describeOnEngines } from "../../harness/describe-on-engines";
import { hostCampaign } from "./host-campaign";
import { stackCampaign } from "./stack-campaign";

const SEED = 5;
const FAULTS = 0.2;
const LIMIT_MS = 300_000;

describe("operations through a service that spoils three of ten requests", () => {
  it(
    "all converge on one object for each resource, and no call of create makes two",
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

describeOnEngines("up through a service that spoils a fifth of the requests", (engine) => {
  it(
    "repeated until it succeeds, ends with what was asked for",
    async () => {
      const options = { seed: SEED, faults: FAULTS, instances: 4, destroys: false, isVerbose: false };
      const { breaches, steps } = await stackCampaign(engine, options);
      expect(breaches).toEqual([]);
      expect(steps.map(({ words }) => words)).toEqual(["up, all new", "up, all changed"]);
      // How many requests there are, and so which are hit, is up to the engine's order.
      expect(Math.max(...steps.map(({ hits }) => hits))).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
