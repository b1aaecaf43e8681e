import fs from "node:fs";
import path from "node:path";
import { describe, test } from "vitest";
import { compared } from "./fixtures/comparison";
import { Player } from "./fixtures/player";
import type { Recordings } from "./fixtures/recordings";

/** See README.md for what is not reproduced, and why. */
const races = new Set(["check fails"]);

/** They take minutes: a third of the first and a sixth of the further ones, and all with `CLOUDINFRA_TEST_RECORDINGS=all`. */
const isAll = process.env.CLOUDINFRA_TEST_RECORDINGS === "all";

describe.concurrent.each([
  { file: "recordings.json", each: isAll ? 1 : 3 },
  { file: "recordings-more.json", each: isAll ? 1 : 6 },
])("like the real engine in $file, one in $each", ({ file, each }) => {
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
