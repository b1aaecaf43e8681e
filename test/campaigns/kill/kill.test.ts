import { describe, expect, it } from "vitest";
import { pulumiOnPath } from "../../harness/pulumi-environment";
import { breachesIn, campaign, killsIn } from "./campaign";
import type { EngineName } from "./life";

/**
 * On the fake engine, the seeds give a creation that is resumed on another machine after two Ctrl-C, a replacement with
 * a killed provider, and an update with a killed CLI.
 */
const small: readonly { engine: EngineName; kills: number; seed: number }[] = [
  { engine: "fake", kills: 3, seed: 11 },
  ...(pulumiOnPath() === undefined ? [] : [{ engine: "pulumi", kills: 2, seed: 568 } as const]),
];

describe("after an up that is killed at any moment", () => {
  it.each(small)(
    "the next one ends with one object for each resource, which the state records ($kills kills, $engine)",
    async ({ engine, kills, seed }) => {
      const lives = await campaign({ engine, kills, seed, jobs: 1 });
      expect(breachesIn(lives)).toEqual([]);
      expect(killsIn(lives)).toBe(kills);
    },
    300_000,
  );
});
