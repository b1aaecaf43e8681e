import fs from "node:fs";
import path from "node:path";
import { describe, test } from "vitest";
import { compared } from "./fixtures/comparison";
import { Player } from "./fixtures/player";
import type { Recordings } from "./fixtures/recordings";

/** Recordings that can't be reproduced. README.md gives the reasons. */
const races = new Set(["check fails"]);

/** All recordings take minutes. By default, every third of the first file and every sixth of the second run. */
const isAll = process.env.CLOUDINFRA_TEST_RECORDINGS === "all";

describe.concurrent.each([
  { file: "recordings.json", each: isAll ? 1 : 3 },
  { file: "recordings-more.json", each: isAll ? 1 : 6 },
])("the fake engine behaves like the real one in $file, 1 of $each recordings", ({ file, each }) => {
  const recordings: Recordings = JSON.parse(fs.readFileSync(path.join(__dirname, file), "utf8"));
  const played = recordings.scenarios.filter(({ name }, index) => index % each === 0 && !races.has(name));
  for (const { name, steps } of played) {
    test(name, async ({ expect }) => {
      const player = new Player();
      try {
        const seen = [];
        for (const step of steps) seen.push(await player.play(step));
        expect(compared(seen, player.folder)).toEqual(compared(steps, "ROOT/program"));
      } finally {
        await player.dispose();
      }
    });
  }
});
