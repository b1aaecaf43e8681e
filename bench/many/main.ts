import { parseArgs } from "node:util";
import { runCommand, UsageError, wholeNumber } from "../../test/campaigns/command";
import { type Measured, measure } from "./measure";
import { fairnessTable, histogram, requestsTable } from "./report";
import { scenesOf } from "./scenes";

const USAGE = `usage: npm run bench:many -- [options]
  --creations N     concurrent creations in one process (1000)
  --seconds A,B     minimum and maximum duration of an operation (20,30)
  --limit N         requests per second in the limited cases (100)
  --seed N          seed for the durations (1)`;

const { values } = parseArgs({
  options: {
    creations: { type: "string", default: "1000" },
    seconds: { type: "string", default: "20,30" },
    limit: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
  },
});

async function main(): Promise<number> {
  const [creations, seed] = [wholeNumber(values.creations), wholeNumber(values.seed)];
  const [from = 0, to = from] = values.seconds.split(",").map(wholeNumber);
  const limit = wholeNumber(values.limit);
  if (creations < 1 || limit < 1 || from > to) throw new UsageError();
  const many = { creations, durations: [from * 1_000, to * 1_000], seed } as const;
  const all: Measured[] = [];
  for (const scene of scenesOf(limit)) {
    console.error(`${scene.name} …`);
    all.push(await measure(scene, many));
  }
  console.log(`\n## ${creations} concurrent creations of ${from} to ${to} s\n`);
  console.log(requestsTable(all, many));
  console.log(
    `\n## Delay until completion was detected, and heap after garbage collection\n\n${fairnessTable(all)}`,
  );
  console.log("\n## Requests per second\n");
  for (const measured of all) console.log(`${histogram(measured)}\n`);
  const failures = all.flatMap(({ failures }) => failures);
  for (const failure of failures.slice(0, 3)) console.error(`FAILED: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

runCommand(USAGE, main);
