import { parseArgs } from "node:util";
import { runCommand, UsageError, verdictOf, wholeNumber } from "../command";
import { breachesIn, campaign, killsIn } from "./campaign";
import type { Life } from "./life";
import { tableOf } from "./table";

const USAGE = `usage: npm run campaign:kill -- [options]
  --engine fake|pulumi   (fake)
  --kills N              number of kills (20)
  --seed N               repeats a schedule (a new seed)
  --jobs N               concurrent stacks (1)
  --life SEED            runs only the life with this seed, as a violation names it`;

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "fake" },
    kills: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    jobs: { type: "string", default: "1" },
    life: { type: "string" },
  },
});

async function main(): Promise<number> {
  const { engine } = values;
  const [kills, seed] = [wholeNumber(values.kills), wholeNumber(values.seed)];
  const jobs = wholeNumber(values.jobs);
  if (engine !== "fake" && engine !== "pulumi") throw new UsageError();
  console.log(`kills: ${kills} on ${engine}, seed ${seed}, jobs ${jobs}`);
  const begun = performance.now();
  const told: Life[] = [];
  const onLife = (one: Life): void => {
    told.push(one);
    const seconds = Math.round((performance.now() - begun) / 1000);
    console.log(
      `${seconds} s: ${killsIn(told)} kills; life ${one.seed}${one.story === undefined ? "" : " BROKE A PROMISE"}`,
    );
    if (one.story !== undefined) console.error(one.story);
  };
  const life = values.life === undefined ? undefined : Number(values.life);
  const lives = await campaign({ engine, kills, seed, jobs, life, onLife });
  const missed = lives.flatMap(({ episodes }) => episodes).reduce((sum, one) => sum + one.missed, 0);
  const broken = breachesIn(lives).length;
  console.log(`\n${tableOf(lives)}\n`);
  console.log(
    `${killsIn(lives)} kills in ${Math.round((performance.now() - begun) / 1000)} s (${missed} missed their moment)`,
  );
  const code = verdictOf(broken, { broken: "violations, see above" });
  console.log(
    `repeat with: npm run campaign:kill -- --engine ${engine} --kills ${kills} --seed ${seed} --jobs ${jobs}`,
  );
  return code;
}

runCommand(USAGE, main);
