import { describe, expect, it } from "vitest";
import { describeOnEngines } from "../../harness/describe-on-engines";
import { racesCampaign } from "./races";
import { stackRounds } from "./stack-rounds";

const SEED = 7;
const RACES = 100;

describe("commands while somebody else changes the same objects", () => {
  it(`overwrite nothing in ${RACES} races, and converge after a refresh`, async () => {
    const { races, breaches } = await racesCampaign({ races: RACES, seed: SEED });
    expect(breaches).toEqual([]);
    expect(races).toHaveLength(RACES);
    const outcomes = new Set(races.map(({ outcome }) => outcome));
    expect([...outcomes]).toEqual(expect.arrayContaining(["succeeded", "conflict", "not found"]));
  });
});

describeOnEngines("a stack while somebody else changes its instances", (engine) => {
  it("matches the program after a refresh and an up, and keeps the unmanaged changes", async () => {
    const { rounds, breaches } = await stackRounds(engine, {
      seed: SEED,
      rounds: 1,
      instances: 2,
      endsIdle: false,
      isVerbose: false,
    });
    expect(breaches).toEqual([]);
    expect(rounds.flatMap(({ done }) => done).length).toBeGreaterThan(0);
  });
});
