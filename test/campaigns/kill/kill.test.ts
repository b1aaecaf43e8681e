import { describe, expect, it } from "vitest";
import { pulumiOnPath } from "../../harness/pulumi-environment";
import { breachesIn, campaign, killsIn } from "./campaign";
import type { EngineName } from "./life";

/**
 * The seeds give, on the fake engine, a creation that is resumed elsewhere after Ctrl-C twice, a replacement (the provider is killed) and
 * an update (the CLI).
 */
const small: readonly { engine: EngineName; kills: number; seed: number }[] = [
  { engine: "fake", kills: 3, seed: 11 },
  ...(pulumiOnPath() === undefined ? [] : [{ engine: "pulumi", kills: 2, seed: 568 } as const]),
];

describe("an up that is killed at any moment", () => {
  it.each(small)(
    "is followed by one that leaves one object for each resource, known to the state ($kills kills, $engine)",
    async ({ engine, kills, seed }) => {
      const lives = await campaign({ engine, kills, seed, jobs: 1 });
      expect(breachesIn(lives)).toEqual([]);
      expect(killsIn(lives)).toBe(kills);
    },
    300_000,
  );
});
