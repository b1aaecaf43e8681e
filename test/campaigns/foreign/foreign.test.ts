import { describe, expect, it } from "vitest";
import { describeOnEngines } from "../../harness/describe-on-engines";
import { racesCampaign } from "./races";
import { stackRounds } from "./stack-rounds";

const SEED = 7;
const RACES = 100;

describe("commands that somebody else gets in the way of", () => {
  it(`overwrite nothing in ${RACES} races, and all converge after a refresh`, async () => {
    const { races, breaches } = await racesCampaign({ races: RACES, seed: SEED });
    expect(breaches).toEqual([]);
    expect(races).toHaveLength(RACES);
    const outcomes = new Set(races.map(({ outcome }) => outcome));
    expect([...outcomes]).toEqual(expect.arrayContaining(["through", "conflict", "not there"]));
  });
});

describeOnEngines("a stack that somebody else gets in the way of", (engine) => {
  it("is as the program asks for after a refresh and an up, with their work kept", async () => {
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
