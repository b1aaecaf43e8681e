import { describe, expect, it } from "vitest";
import { pulumiOnPath } from "../../harness/pulumi-environment";
import { breachesIn, campaign, killsIn } from "./campaign";
import type { EngineName } from "./life";

/**
 * On the fake a creation that goes on elsewhere (the CLI killed), a replacement (all) and an update (the provider); on the real
 * CLI a creation that goes on elsewhere (all) and a replacement (the CLI): so these seeds have it.
 */
const small: readonly { engine: EngineName; kills: number; seed: number }[] = [
  { engine: "fake", kills: 3, seed: 1398 },
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
