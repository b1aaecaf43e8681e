import { inspect, parseArgs } from "node:util";
import { type Breach, campaign } from "./campaign";
import { callsTable, countsLine, growthOf, heapLine } from "./table";

const USAGE = `usage: npm run campaign:random -- [options]
  --cases N          how many cases (1000)
  --seed N           repeats a campaign (a new one)
  --case SEED:PATH   one case only, as a breach names it`;

/** How much more heap may be in use at the end than near the beginning. */
const MOST_GROWTH = 0.1;

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    case: { type: "string" },
  },
});

async function main(): Promise<number> {
  const [cases, seed] = [Number(values.cases), Number(values.seed)];
  const [, ofCase, path = ""] = /^(-?\d+):([\d:]*)$/.exec(values.case ?? "") ?? [];
  if (![cases, seed].every(Number.isSafeInteger) || (values.case !== undefined && ofCase === undefined)) {
    console.error(USAGE);
    return 2;
  }
  const again = ofCase === undefined ? undefined : { seed: Number(ofCase), path };
  console.log(`npm run campaign:random -- --cases ${cases} --seed ${seed}\n`);
  const report = await campaign({ cases, seed, again });
  const { tally, breaches, heap } = report;
  console.log(callsTable(report));
  console.log(`\n${tally.cases} cases, ${tally.requests} requests in ${(report.ms / 1000).toFixed(0)} s`);
  console.log(`spoiled: ${countsLine(tally.spoiled)}`);
  console.log(`damaged: ${countsLine(tally.damages)}`);
  console.log(`failures: ${countsLine(tally.codes)}`);
  console.log(heapLine(report));
  for (const breach of breaches) tell(breach);
  const grows = heap !== undefined && growthOf(heap) > MOST_GROWTH;
  if (grows) console.error("BROKEN: the heap grows");
  const broken = breaches.length + Number(grows);
  console.log(broken === 0 ? "no promise was broken" : `${broken} promises were broken`);
  return broken === 0 ? 0 : 1;
}

function tell({ promises, smallest, story, seed, path }: Breach): void {
  for (const promise of promises) console.error(`BROKEN: ${promise}`);
  console.error(inspect(smallest, { depth: 10, maxStringLength: 300 }));
  for (const line of story) console.error(line);
  console.error(`again: npm run campaign:random -- --case ${seed}:${path}\n`);
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 2;
  },
);
